#include <array>

#include "nadi/base/error.h"
#include "nadi/cpu/kernel.h"

namespace nadi::inline engines::cpu {
namespace {

// Ops without a kernel: views, which nobody runs; fp8, which the engine refuses when a program is loaded; and
// those that meet other ranks, which the engine hands to its communicator.
constexpr Kernel kNoKernel = nullptr;

constexpr std::array kEntries{
    KernelEntry{OpKind::kMatmul, matmul_kernel, matmul_workspace, true},
    KernelEntry{OpKind::kAttention, attention_kernel, attention_workspace, true},
    KernelEntry{OpKind::kAttentionGrad, attention_grad_kernel, attention_grad_workspace, true},
    KernelEntry{OpKind::kSoftmax, softmax_kernel, softmax_workspace},
    KernelEntry{OpKind::kSoftmaxGrad, softmax_grad_kernel, softmax_grad_workspace},
    KernelEntry{OpKind::kRepeatHeads, repeat_heads_kernel},
    KernelEntry{OpKind::kSumHeadGroups, sum_head_groups_kernel},
    KernelEntry{OpKind::kLayerNorm, layer_norm_kernel},
    KernelEntry{OpKind::kLayerNormGrad, layer_norm_grad_kernel, layer_norm_grad_workspace},
    KernelEntry{OpKind::kRmsNorm, rms_norm_kernel},
    KernelEntry{OpKind::kRmsNormGrad, rms_norm_grad_kernel, rms_norm_grad_workspace},
    KernelEntry{OpKind::kGelu, gelu_kernel},
    KernelEntry{OpKind::kGeluGrad, gelu_grad_kernel},
    KernelEntry{OpKind::kSwiglu, swiglu_kernel},
    KernelEntry{OpKind::kSwigluGrad, swiglu_grad_kernel},
    KernelEntry{OpKind::kRotary, rotary_kernel, rotary_workspace, true},
    KernelEntry{OpKind::kAdd, add_kernel},
    KernelEntry{OpKind::kDropout, dropout_kernel},
    KernelEntry{OpKind::kSumRows, sum_rows_kernel, sum_rows_workspace},
    KernelEntry{OpKind::kCopy, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kCast, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kQuantizeFp8, kNoKernel},
    KernelEntry{OpKind::kConcat, concat_kernel},
    KernelEntry{OpKind::kFill, fill_kernel},
    KernelEntry{OpKind::kEmbedding, embedding_kernel},
    KernelEntry{OpKind::kEmbeddingGrad, embedding_grad_kernel},
    KernelEntry{OpKind::kCrossEntropy, cross_entropy_kernel, cross_entropy_workspace},
    KernelEntry{OpKind::kCrossEntropyGrad, cross_entropy_grad_kernel},
    KernelEntry{OpKind::kArgmax, argmax_kernel},
    KernelEntry{OpKind::kSample, sample_kernel, sample_workspace},
    KernelEntry{OpKind::kSelectRows, select_rows_kernel},
    KernelEntry{OpKind::kCacheWrite, cache_write_kernel},
    KernelEntry{OpKind::kAdvance, advance_kernel},
    KernelEntry{OpKind::kTakeTokens, take_tokens_kernel},
    KernelEntry{OpKind::kVocabMax, vocab_max_kernel},
    KernelEntry{OpKind::kVocabSums, vocab_sums_kernel},
    KernelEntry{OpKind::kShardedCrossEntropy, sharded_cross_entropy_kernel, sharded_cross_entropy_workspace},
    KernelEntry{OpKind::kReshape, kNoKernel},
    KernelEntry{OpKind::kPermute, kNoKernel},
    KernelEntry{OpKind::kSplit, kNoKernel},
    KernelEntry{OpKind::kCopyToGroup, kNoKernel},
    KernelEntry{OpKind::kAdamW, adamw_kernel},
    KernelEntry{OpKind::kSgd, sgd_kernel},
    KernelEntry{OpKind::kSgdSai, sgd_sai_kernel, sgd_sai_workspace},
    KernelEntry{OpKind::kSquaredNorm, squared_norm_kernel, squared_norm_workspace},
    KernelEntry{OpKind::kGradScale, grad_scale_kernel},
    KernelEntry{OpKind::kUpdateLossScale, update_loss_scale_kernel},
    KernelEntry{OpKind::kNextUpdate, next_update_kernel},
    // Collectives come here only in a group of one rank, where all of them are copies.
    KernelEntry{OpKind::kAllReduce, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kAllReduceGrad, all_reduce_grad_kernel},
    KernelEntry{OpKind::kReduce, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kAllGather, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kReduceScatter, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kBucketReduceScatter, kNoKernel},
    KernelEntry{OpKind::kBucketAllGather, kNoKernel},
    KernelEntry{OpKind::kBroadcast, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kAllToAll, copy_kernel, nullptr, true},
    KernelEntry{OpKind::kSend, kNoKernel},
    KernelEntry{OpKind::kReceive, kNoKernel},
};

constexpr bool is_complete() {
  if (kEntries.size() != kOpKindCount) return false;
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (kEntries[i].kind != static_cast<OpKind>(i)) return false;
  return true;
}
static_assert(is_complete(), "every op kind has its entry, in the order of the enumeration");

}  // namespace

const KernelEntry& kernel_entry(OpKind kind) {
  return kEntries[static_cast<std::size_t>(kind)];
}

}  // namespace nadi::inline engines::cpu
