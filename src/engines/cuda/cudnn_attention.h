// Attention by cuDNN, which is faster than the own kernels where it takes the problem:
//
//   CudnnAttention* cudnn = call.device.attention();
//   if (cudnn != nullptr && cudnn->run_forward(call)) return;
//   ... own kernel
//
// A plan is made when a problem first comes, and kept; that must not be while a stream is captured.
#pragma once

#include <memory>

namespace nadi::inline engines::cuda {

class Device;
struct KernelCall;

class CudnnAttention {
 public:
  // nullptr where cuDNN is not there, or too old.
  static std::unique_ptr<CudnnAttention> open(const Device& device);
  ~CudnnAttention();

  // Whether it was enqueued; false means cuDNN does not take this problem. cudnn_attention_workspace.h says which
  // ones it takes and what workspace the call must have.
  bool run_forward(const KernelCall& call);
  bool run_gradient(const KernelCall& call);

 private:
  class State;
  explicit CudnnAttention(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline engines::cuda
