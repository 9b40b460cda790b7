// A GPU as kernels see it: its properties, the libraries that are used on it, and where they work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "nadi/cuda/device_traits.h"

namespace nadi::inline engines::cuda {

class MatrixProducts;  // matrix_products.h
class CudnnAttention;  // cudnn_attention.h

class Device {
 public:
  // Number among the devices that the process sees. Error (environment) when it cannot be used.
  explicit Device(int number, const MathOptions& options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int number() const { return number_; }
  const std::string& name() const { return name_; }
  const DeviceTraits& traits() const { return traits_; }

  // For the thread that calls: everything that follows is on this device.
  void make_current() const;

  // Zeros, with which the blocks of a kernel find out which of them comes last. Each launch leaves zeros, so
  // that the next may begin with them: those that use them follow each other on one stream.
  static constexpr int kCounters = 4096;
  unsigned* counters() const { return counters_; }

  // Made on first use, which must not be while a stream is captured: every kernel runs once before.
  MatrixProducts& products();
  // nullptr where cuDNN is not there, or too old.
  CudnnAttention* attention() { return attention_.get(); }

 private:
  int number_;
  std::string name_;
  DeviceTraits traits_;
  unsigned* counters_ = nullptr;
  std::unique_ptr<MatrixProducts> products_;
  std::unique_ptr<CudnnAttention> attention_;
};

}  // namespace nadi::inline engines::cuda
