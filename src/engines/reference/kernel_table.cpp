#include <array>

#include "nadi/base/error.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

// Reached only by a bug: the interpreter stops at ops that meet other ranks.
void meets_others_kernel(KernelCall&) {
  check(false, "an op that needs other ranks has no kernel of its own");
}

struct Entry {
  OpKind kind;
  Kernel kernel;
};

constexpr std::array kEntries{
    Entry{OpKind::kMatmul, matmul_kernel},
    Entry{OpKind::kAttention, attention_kernel},
    Entry{OpKind::kAttentionGrad, attention_grad_kernel},
    Entry{OpKind::kSoftmax, softmax_kernel},
    Entry{OpKind::kSoftmaxGrad, softmax_grad_kernel},
    Entry{OpKind::kRepeatHeads, repeat_heads_kernel},
    Entry{OpKind::kSumHeadGroups, sum_head_groups_kernel},
    Entry{OpKind::kLayerNorm, layer_norm_kernel},
    Entry{OpKind::kLayerNormGrad, layer_norm_grad_kernel},
    Entry{OpKind::kRmsNorm, rms_norm_kernel},
    Entry{OpKind::kRmsNormGrad, rms_norm_grad_kernel},
    Entry{OpKind::kGelu, gelu_kernel},
    Entry{OpKind::kGeluGrad, gelu_grad_kernel},
    Entry{OpKind::kSwiglu, swiglu_kernel},
    Entry{OpKind::kSwigluGrad, swiglu_grad_kernel},
    Entry{OpKind::kRotary, rotary_kernel},
    Entry{OpKind::kAdd, add_kernel},
    Entry{OpKind::kDropout, dropout_kernel},
    Entry{OpKind::kSumRows, sum_rows_kernel},
    Entry{OpKind::kCopy, copy_kernel},
    Entry{OpKind::kCast, copy_kernel},
    Entry{OpKind::kQuantizeFp8, quantize_fp8_kernel},
    Entry{OpKind::kConcat, concat_kernel},
    Entry{OpKind::kFill, fill_kernel},
    Entry{OpKind::kEmbedding, embedding_kernel},
    Entry{OpKind::kEmbeddingGrad, embedding_grad_kernel},
    Entry{OpKind::kCrossEntropy, cross_entropy_kernel},
    Entry{OpKind::kCrossEntropyGrad, cross_entropy_grad_kernel},
    Entry{OpKind::kArgmax, argmax_kernel},
    Entry{OpKind::kSample, sample_kernel},
    Entry{OpKind::kSelectRows, select_rows_kernel},
    Entry{OpKind::kCacheWrite, cache_write_kernel},
    Entry{OpKind::kAdvance, advance_kernel},
    Entry{OpKind::kTakeTokens, take_tokens_kernel},
    Entry{OpKind::kVocabMax, vocab_max_kernel},
    Entry{OpKind::kVocabSums, vocab_sums_kernel},
    Entry{OpKind::kShardedCrossEntropy, sharded_cross_entropy_kernel},
    Entry{OpKind::kReshape, copy_kernel},
    Entry{OpKind::kPermute, permute_kernel},
    Entry{OpKind::kSplit, split_kernel},
    Entry{OpKind::kCopyToGroup, copy_kernel},
    Entry{OpKind::kAdamW, adamw_kernel},
    Entry{OpKind::kSgd, sgd_kernel},
    Entry{OpKind::kSgdSai, sgd_sai_kernel},
    Entry{OpKind::kSquaredNorm, squared_norm_kernel},
    Entry{OpKind::kGradScale, grad_scale_kernel},
    Entry{OpKind::kUpdateLossScale, update_loss_scale_kernel},
    Entry{OpKind::kNextUpdate, next_update_kernel},
    // Collectives come here only in a group of one rank, where all of them are copies.
    Entry{OpKind::kAllReduce, copy_kernel},
    Entry{OpKind::kAllReduceGrad, all_reduce_grad_kernel},
    Entry{OpKind::kReduce, copy_kernel},
    Entry{OpKind::kAllGather, copy_kernel},
    Entry{OpKind::kReduceScatter, copy_kernel},
    Entry{OpKind::kBucketReduceScatter, meets_others_kernel},
    Entry{OpKind::kBucketAllGather, meets_others_kernel},
    Entry{OpKind::kBroadcast, copy_kernel},
    Entry{OpKind::kAllToAll, copy_kernel},
    Entry{OpKind::kSend, meets_others_kernel},
    Entry{OpKind::kReceive, meets_others_kernel},
};

constexpr bool is_complete() {
  if (kEntries.size() != kOpKindCount) return false;
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (static_cast<std::size_t>(kEntries[i].kind) != i) return false;
  return true;
}
static_assert(is_complete(), "one kernel per op, in the order of OpKind");

}  // namespace

Kernel kernel(OpKind kind) {
  return kEntries[static_cast<std::size_t>(kind)].kernel;
}

}  // namespace nadi::inline engines
