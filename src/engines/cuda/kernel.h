// What a kernel of the CUDA engine works with. A kernel computes one op, or several that were fused
// (fusing.h), on memory of the device that the engine has laid out. It enqueues work on the stream of the
// call and returns: it allocates nothing, waits for nothing, and reads nothing from the device, so that a
// whole step can be captured as one CUDA graph and run again without it. Whatever changes from step to step
// it must therefore read on the device.
//
// The definition of the op (graph/ops/) says what it must compute; reference/ has the plain version of
// each, which tests hold it against. What a kernel needs besides its operands is in kernel_needs.h, which is
// known without CUDA.
//
// Each family of ops has one file of kernels (*.cu) with host functions of this form:
//
//   void gelu_kernel(const KernelCall& call) {
//     const OpCall& op = call.op();
//     ...<<<grid, block, 0, call.stream>>>(op.in<T>(0), op.out<T>(0), op.inputs[0].elements());
//     check_launch(call);
//   }
//
// Elements are fp32, bf16 or fp16 in memory and fp32 in registers; sums that are long are taken in parts, in
// an order that does not depend on timing: no floating-point atomics.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/cuda/device.h"
#include "nadi/engine/operand.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines::cuda {

// One op of a call.
struct OpCall {
  OpView op;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;

  const Attributes& attributes() const { return op.attributes(); }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].tensor != nullptr; }
  const Shape& shape(std::size_t i) const { return inputs[i].shape(); }
  DType dtype(std::size_t i) const { return inputs[i].dtype(); }
  DType out_dtype(std::size_t i) const { return outputs[i].dtype(); }
  // Whether output i is added to what is there, instead of overwriting it.
  bool accumulates(std::size_t i) const { return op.op.outputs[i].accumulate; }

  // nullptr where it is absent.
  template <class T>
  const T* in(std::size_t i) const {
    return has(i) ? reinterpret_cast<const T*>(inputs[i].data) : nullptr;
  }
  template <class T>
  T* out(std::size_t i) const {
    return reinterpret_cast<T*>(outputs[i].data);
  }
};

struct KernelCall {
  std::span<const OpCall> ops;     // those that it computes, without views
  std::span<std::byte> workspace;  // as many bytes as the kernel asked for, aligned to 256
  Device& device;
  cudaStream_t stream = nullptr;

  const OpCall& op() const { return ops[0]; }
};

using Kernel = void (*)(const KernelCall&);

// Bug or environment: stops with the name of the op when a launch was refused.
void check_launch(const KernelCall& call);

}  // namespace nadi::inline engines::cuda
