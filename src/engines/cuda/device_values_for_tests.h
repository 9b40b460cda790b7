// For tests: an array in memory of the GPU.
//
//   OnDevice<float> values({1, 2, 3});
//   ...                                     // enqueue work on values.bytes()
//   EXPECT_EQ(values.read(), ...);          // waits for all of it
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "nadi/cuda/cuda_error.h"

namespace nadi::inline engines::cuda {

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : size_(values.size()) {
    void* data = nullptr;
    check_cuda(cudaMalloc(&data, size_ * sizeof(T)), "cudaMalloc");
    data_ = static_cast<std::byte*>(data);
    write(values);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_ * sizeof(T)}; }

  void write(const std::vector<T>& values) {
    check_cuda(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  std::vector<T> read() const {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<T> values(size_);
    check_cuda(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

// A stream that waits for no other.
class StreamForTests {
 public:
  StreamForTests() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~StreamForTests() { cudaStreamDestroy(stream_); }
  StreamForTests(const StreamForTests&) = delete;
  StreamForTests& operator=(const StreamForTests&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace nadi::inline engines::cuda
