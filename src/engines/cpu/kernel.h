// What a kernel of the CPU engine works with, and the table of kernels. A kernel computes one op on memory
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

struct KernelEntry {
  OpKind kind;
  Kernel run;
  // Bytes of workspace; nullptr means none.
  std::int64_t (*workspace)(const OpView&, int threads) = nullptr;
  // Inputs may be strided views. Otherwise the engine makes contiguous copies of those that are.
  bool takes_strides = false;
};
const KernelEntry& kernel_entry(OpKind kind);

// The kernels, by file.
void matmul_kernel(const KernelCall& call);
std::int64_t matmul_workspace(const OpView& op, int threads);

void attention_kernel(const KernelCall& call);
std::int64_t attention_workspace(const OpView& op, int threads);
void attention_grad_kernel(const KernelCall& call);
std::int64_t attention_grad_workspace(const OpView& op, int threads);
void softmax_kernel(const KernelCall& call);
std::int64_t softmax_workspace(const OpView& op, int threads);
void softmax_grad_kernel(const KernelCall& call);
std::int64_t softmax_grad_workspace(const OpView& op, int threads);
void repeat_heads_kernel(const KernelCall& call);
void sum_head_groups_kernel(const KernelCall& call);
void rotary_kernel(const KernelCall& call);
std::int64_t rotary_workspace(const OpView& op, int threads);

void layer_norm_kernel(const KernelCall& call);
void layer_norm_grad_kernel(const KernelCall& call);
std::int64_t layer_norm_grad_workspace(const OpView& op, int threads);
void rms_norm_kernel(const KernelCall& call);
void rms_norm_grad_kernel(const KernelCall& call);
std::int64_t rms_norm_grad_workspace(const OpView& op, int threads);

void gelu_kernel(const KernelCall& call);
void gelu_grad_kernel(const KernelCall& call);
void swiglu_kernel(const KernelCall& call);
void swiglu_grad_kernel(const KernelCall& call);

void add_kernel(const KernelCall& call);
void dropout_kernel(const KernelCall& call);
void sum_rows_kernel(const KernelCall& call);
std::int64_t sum_rows_workspace(const OpView& op, int threads);
void copy_kernel(const KernelCall& call);  // also cast, and collectives of a group of one rank; any strides
void concat_kernel(const KernelCall& call);
void fill_kernel(const KernelCall& call);

void embedding_kernel(const KernelCall& call);
void embedding_grad_kernel(const KernelCall& call);
void argmax_kernel(const KernelCall& call);
void select_rows_kernel(const KernelCall& call);
void cache_write_kernel(const KernelCall& call);
void advance_kernel(const KernelCall& call);
void take_tokens_kernel(const KernelCall& call);

void sample_kernel(const KernelCall& call);
std::int64_t sample_workspace(const OpView& op, int threads);

void cross_entropy_kernel(const KernelCall& call);
std::int64_t cross_entropy_workspace(const OpView& op, int threads);
void cross_entropy_grad_kernel(const KernelCall& call);
void vocab_max_kernel(const KernelCall& call);
void vocab_sums_kernel(const KernelCall& call);
void sharded_cross_entropy_kernel(const KernelCall& call);
std::int64_t sharded_cross_entropy_workspace(const OpView& op, int threads);

void adamw_kernel(const KernelCall& call);
void sgd_kernel(const KernelCall& call);
void sgd_sai_kernel(const KernelCall& call);
std::int64_t sgd_sai_workspace(const OpView& op, int threads);
void squared_norm_kernel(const KernelCall& call);
std::int64_t squared_norm_workspace(const OpView& op, int threads);
void grad_scale_kernel(const KernelCall& call);
void update_loss_scale_kernel(const KernelCall& call);
void next_update_kernel(const KernelCall& call);

void all_reduce_grad_kernel(const KernelCall& call);

}  // namespace nadi::inline engines::cpu
