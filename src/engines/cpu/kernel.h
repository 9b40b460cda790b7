// What a kernel of the CPU engine works with, and the entries of all kernels. A kernel computes one op on memory
// that the engine has laid out: it allocates nothing, and what an op needs beyond its inputs and outputs it
// asks for as workspace, once, when the program is loaded. The definition of the op (graph/ops/) says what it
// must compute; reference/ has the plain version of each, which tests hold it against.
//
// Each family of ops has one file of kernels. Elements are fp32, bf16 or fp16 in memory and fp32 in
// registers (element.h); sums that are long are taken in parts or in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/engine/operand.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline engines::cpu {

class KernelCall {
 public:
  OpView op;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  std::span<std::byte> workspace;  // as many bytes as the kernel asked for, aligned to a cache line
  int threads = 1;

  const Attributes& attributes() const { return op.attributes(); }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].data != nullptr; }
  const Shape& shape(std::size_t i) const { return inputs[i].shape(); }
  DType dtype(std::size_t i) const { return inputs[i].dtype(); }
  DType out_dtype(std::size_t i) const { return outputs[i].dtype(); }
  // Whether output i is added to what is there, instead of overwriting it.
  bool accumulates(std::size_t i) const { return op.op.outputs[i].accumulate; }

  template <class T>
  const T* in(std::size_t i) const {
    return reinterpret_cast<const T*>(inputs[i].data);
  }
  template <class T>
  T* out(std::size_t i) const {
    return reinterpret_cast<T*>(outputs[i].data);
  }
  float scalar(std::size_t i) const { return *in<float>(i); }  // of an fp32 input
  float scalar_or(std::size_t i, float fallback) const { return has(i) ? scalar(i) : fallback; }

  // Part `thread` of a workspace that was asked for as `threads` equal parts.
  template <class T>
  T* workspace_of(int thread, std::int64_t elements_each) const {
    return reinterpret_cast<T*>(workspace.data()) + thread * elements_each;
  }
};

using Kernel = void (*)(const KernelCall&);

// How one op is run: each file of kernels ends with the entries of its ops.
struct KernelEntry {
  Kernel run = nullptr;  // nullptr means the engine does not run it
  // Bytes of workspace; nullptr means none.
  std::int64_t (*workspace)(const OpView&, int threads) = nullptr;
  // Inputs may be strided views. Otherwise the engine makes contiguous copies of those that are.
  bool takes_strides = false;
};
const KernelEntry& kernel_entry(OpKind kind);

#define NADI_OP(kind, name) extern const KernelEntry name##_entry;
#include "nadi/graph/op_list.h"

}  // namespace nadi::inline engines::cpu
