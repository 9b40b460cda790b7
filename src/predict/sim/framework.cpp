#include "nadi/sim/framework.h"

#include <algorithm>
#include <array>

namespace nadi::inline predict {
namespace {

constexpr OverlapOptions kMegatron2021{.blocking_messages = true,
                                       .reduce_after_backward = true,
                                       .blocking_collectives = true,
                                       .messages_stop_host = true,
                                       .scattered_messages = true};
constexpr OverlapOptions kMegatron2022{.blocking_messages = true,
                                       .reduce_after_backward = true,
                                       .messages_stop_host = true,
                                       .scattered_messages = true};
constexpr OverlapOptions kMegatronCore{
    .blocking_messages = true, .interleaved_messages_overlap = true, .messages_stop_host = true};
constexpr LayoutRules kAllAtOnce{.rule = BucketRule::kOne};

constexpr std::array kFrameworks{
    Framework{.name = "nadi", .summary = "communication runs beside computation"},
    Framework{.name = "megatron-2021",
              .summary = "communication stops computation",
              .fused_attention = false,
              .overlap = kMegatron2021,
              .layout = kAllAtOnce},
    Framework{.name = "megatron-2022",
              .summary = "messages between stages stop computation and host, gradients are reduced after the "
                         "backward pass",
              .fused_attention = false,
              .overlap = kMegatron2022,
              .layout = kAllAtOnce},
    Framework{.name = "megatron",
              .summary =
                  "gradients are reduced beside the backward pass and parameters gathered beside the forward "
                  "pass, in large buckets",
              .fused_attention = true,
              .overlap = kMegatronCore,
              .layout = {.rule = BucketRule::kMegatron, .gathers = GatherTime::kBeforeUse}},
};

}  // namespace

std::span<const Framework> frameworks() {
  return kFrameworks;
}

const Framework* find_framework(std::string_view name) {
  const auto found = std::ranges::find(kFrameworks, name, &Framework::name);
  return found == kFrameworks.end() ? nullptr : &*found;
}

DType default_gradient_dtype(DType dtype) {
  return dtype == DType::kF16 ? DType::kF16 : DType::kF32;
}

}  // namespace nadi::inline predict
