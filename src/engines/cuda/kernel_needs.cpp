#include "nadi/cuda/kernel_needs.h"

#include <array>

namespace nadi::inline engines::cuda {
namespace {

constexpr KernelNeeds none(OpKind kind) {
  return {.kind = kind, .exists = false};
}
constexpr KernelNeeds plain(OpKind kind) {
  return {.kind = kind};
}
constexpr KernelNeeds any_strides(OpKind kind) {
  return {.kind = kind, .takes_strides = true};
}
constexpr KernelNeeds padded_rows(OpKind kind) {
  return {.kind = kind, .takes_padded_rows = true};
}

std::int64_t matmul_workspace(const OpView&, const DeviceTraits&) {
  return kProductWorkspace;
}

constexpr std::array kNeeds{
    KernelNeeds{.kind = OpKind::kMatmul,
                .workspace = matmul_workspace,
                .takes_strides = true,
                .takes_padded_rows = true,
                .takes_shared_rows = true},
    KernelNeeds{.kind = OpKind::kAttention,
                .workspace = attention_workspace,
                .takes_strides = true,
                .takes_shared_rows = true},
    KernelNeeds{.kind = OpKind::kAttentionGrad,
                .workspace = attention_grad_workspace,
                .takes_strides = true,
                .takes_shared_rows = true},
    plain(OpKind::kSoftmax),
    plain(OpKind::kSoftmaxGrad),
    plain(OpKind::kRepeatHeads),
    plain(OpKind::kSumHeadGroups),
    plain(OpKind::kLayerNorm),
    KernelNeeds{.kind = OpKind::kLayerNormGrad, .workspace = norm_grad_workspace},
    plain(OpKind::kRmsNorm),
    KernelNeeds{.kind = OpKind::kRmsNormGrad, .workspace = norm_grad_workspace},
    plain(OpKind::kGelu),
    plain(OpKind::kGeluGrad),
    plain(OpKind::kSwiglu),
    plain(OpKind::kSwigluGrad),
    KernelNeeds{.kind = OpKind::kRotary, .takes_strides = true, .takes_shared_rows = true},
    plain(OpKind::kAdd),
    plain(OpKind::kDropout),
    KernelNeeds{.kind = OpKind::kSumRows,
                .workspace = sum_rows_workspace,
                .takes_padded_rows = true,
                .takes_shared_rows = true},
    any_strides(OpKind::kCopy),
    any_strides(OpKind::kCast),
    none(OpKind::kQuantizeFp8),
    plain(OpKind::kConcat),
    plain(OpKind::kFill),
    plain(OpKind::kEmbedding),
    KernelNeeds{.kind = OpKind::kEmbeddingGrad, .workspace = embedding_grad_workspace},
    KernelNeeds{
        .kind = OpKind::kCrossEntropy, .workspace = cross_entropy_workspace, .takes_padded_rows = true},
    padded_rows(OpKind::kCrossEntropyGrad),
    KernelNeeds{.kind = OpKind::kArgmax, .workspace = argmax_workspace, .takes_padded_rows = true},
    KernelNeeds{.kind = OpKind::kSample, .workspace = sample_workspace, .takes_padded_rows = true},
    plain(OpKind::kSelectRows),
    plain(OpKind::kCacheWrite),
    plain(OpKind::kAdvance),
    plain(OpKind::kTakeTokens),
    padded_rows(OpKind::kVocabMax),
    padded_rows(OpKind::kVocabSums),
    KernelNeeds{.kind = OpKind::kShardedCrossEntropy,
                .workspace = cross_entropy_workspace,
                .takes_padded_rows = true},
    none(OpKind::kRoute),
    none(OpKind::kRouteGrad),
    none(OpKind::kPlaceTokens),
    none(OpKind::kPermuteTokens),
    none(OpKind::kUnpermuteTokens),
    none(OpKind::kGroupedMatmul),
    none(OpKind::kGroupedMatmulGrad),
    none(OpKind::kWeightedSwiglu),
    none(OpKind::kWeightedSwigluGrad),
    none(OpKind::kSigmoidGate),
    none(OpKind::kSigmoidGateGrad),
    none(OpKind::kRouterSums),
    none(OpKind::kRouterSumsGrad),
    none(OpKind::kBalanceLoss),
    none(OpKind::kBalanceLossGrad),
    none(OpKind::kRouterZLoss),
    none(OpKind::kRouterZLossGrad),
    none(OpKind::kUpdateExpertBias),
    none(OpKind::kPlaceReceived),
    none(OpKind::kReshape),
    none(OpKind::kPermute),
    none(OpKind::kSplit),
    none(OpKind::kCopyToGroup),
    plain(OpKind::kAdamW),
    plain(OpKind::kSgd),
    KernelNeeds{.kind = OpKind::kSgdSai, .workspace = sgd_sai_workspace},
    KernelNeeds{.kind = OpKind::kSquaredNorm, .workspace = squared_norm_workspace},
    plain(OpKind::kGradScale),
    plain(OpKind::kUpdateLossScale),
    plain(OpKind::kNextUpdate),
    // Collectives come here only in a group of one rank, where all of them are copies.
    any_strides(OpKind::kAllReduce),
    plain(OpKind::kAllReduceGrad),
    any_strides(OpKind::kReduce),
    any_strides(OpKind::kAllGather),
    any_strides(OpKind::kReduceScatter),
    none(OpKind::kBucketReduceScatter),
    none(OpKind::kBucketAllGather),
    any_strides(OpKind::kBroadcast),
    any_strides(OpKind::kAllToAll),
    none(OpKind::kExchangeRows),
    none(OpKind::kSend),
    none(OpKind::kReceive),
};

constexpr bool is_complete() {
  if (kNeeds.size() != kOpKindCount) return false;
  for (std::size_t i = 0; i < kNeeds.size(); ++i)
    if (kNeeds[i].kind != static_cast<OpKind>(i)) return false;
  return true;
}
static_assert(is_complete(), "every op kind has its entry, in the order of the enumeration");

}  // namespace

const KernelNeeds& kernel_needs(OpKind kind) {
  return kNeeds[static_cast<std::size_t>(kind)];
}

}  // namespace nadi::inline engines::cuda
