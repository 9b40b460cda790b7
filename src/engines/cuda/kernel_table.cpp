#include <array>

#include "nadi/base/error.h"
#include "nadi/cuda/kernels.h"

namespace nadi::inline engines::cuda {
namespace {

struct Entry {
  OpKind kind;
  Kernel run;
};

// Ops that are not here have no kernel: views, which nobody runs; fp8 and others that the engine refuses when a program is loaded;
// and those that meet other ranks.
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
    Entry{OpKind::kBroadcast, copy_kernel},
    Entry{OpKind::kAllToAll, copy_kernel},
};

}  // namespace

Kernel kernel_of(OpKind kind) {
  static const std::array kByKind = [] {
    std::array<Kernel, kOpKindCount> kernels{};
    for (const Entry& entry : kEntries) kernels[static_cast<std::size_t>(entry.kind)] = entry.run;
    return kernels;
  }();
  return kByKind[static_cast<std::size_t>(kind)];
}

Kernel kernel_of(FusedKind fused) {
  switch (fused) {
    case FusedKind::kResidualNorm:
      return residual_norm_kernel;
    case FusedKind::kNormGradSum:
      return norm_grad_sum_kernel;
    case FusedKind::kGeluGradSums:
      return gelu_grad_sums_kernel;
    case FusedKind::kLossGradSums:
      return loss_grad_sums_kernel;
    case FusedKind::kLossWithGradient:
      return loss_with_gradient_kernel;
    case FusedKind::kGradientOfLoss:
      return gradient_of_loss_kernel;
    case FusedKind::kMatmulAdd:
      return matmul_add_kernel;
    case FusedKind::kEmbeddingsSum:
      return embeddings_sum_kernel;
    case FusedKind::kJoinedResults:
    case FusedKind::kJoinedGradients:
      return joined_products_kernel;
    case FusedKind::kNormProducts:
      return decode_norm_products_kernel;
    case FusedKind::kGatedProducts:
      return decode_gated_products_kernel;
    case FusedKind::kProductAdd:
      return decode_product_add_kernel;
    case FusedKind::kNone:
    case FusedKind::kUpdates:  // the kernel of one of them does all
      break;
  }
  unreachable();
}

}  // namespace nadi::inline engines::cuda
