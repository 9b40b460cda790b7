#include "nadi/cuda/cudnn_attention_workspace.h"

#include "nadi/base/round_up.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/attention.h"

namespace nadi::inline engines::cuda {
namespace {

using namespace attention_input;

constexpr int kOldestArchitecture = 90;  // earlier ones have other kernels, which were not tried
constexpr std::int64_t kWidestHead = 256;
constexpr std::int64_t kHeadWidthStep = 8;
// A plan takes half a second to make; with fewer tokens that is not worth it.
constexpr std::int64_t kFewestTokens = 128;

// What plans of cuDNN 9.14 and 9.19 ask for on Hopper: scores in 16 bits when deterministic, padded to tiles;
// with grouped queries the gradients of keys and values of every query's head. And a little more.
constexpr std::int64_t kScoreTile = 128;
constexpr std::int64_t kElementBytes = 2;
constexpr std::int64_t kSlack = 4096;

bool all_of_type(const OpView& op, DType dtype) {
  for (const int input : {kQ, kK, kV, kY, kDy})
    if (op.has(static_cast<std::size_t>(input)) && op.input(static_cast<std::size_t>(input)).dtype != dtype)
      return false;
  // The second output of the forward pass are the statistics.
  const std::size_t outputs = op.op.kind == OpKind::kAttention ? 1 : op.op.outputs.size();
  for (std::size_t i = 0; i < outputs; ++i)
    if (op.output(i).dtype != dtype) return false;
  return true;
}

bool adds_to_gradients(const OpView& op) {
  for (const auto& output : op.op.outputs)
    if (output.accumulate) return true;
  return false;
}

}  // namespace

bool cudnn_takes_attention(const OpView& op, const DeviceTraits& traits) {
  if (!traits.cudnn || traits.compute_capability < kOldestArchitecture) return false;
  const DType dtype = op.input(kQ).dtype;
  if (dtype != DType::kBF16 && dtype != DType::kF16) return false;
  if (!all_of_type(op, dtype) || adds_to_gradients(op)) return false;
  if (op.attributes().real("dropout") > 0 || op.has(kPositions) || op.has(kQueryPositions)) return false;
  const AttentionExtents e = attention_extents(op);
  return e.D % kHeadWidthStep == 0 && e.D <= kWidestHead && e.T >= kFewestTokens && e.S >= kFewestTokens;
}

CudnnGradientScratch cudnn_gradient_scratch(const OpView& op, const DeviceTraits& traits) {
  const AttentionExtents e = attention_extents(op);
  const std::int64_t heads = e.B * e.H;
  CudnnGradientScratch scratch{
      .y_dot_dy = rounded_up(heads * e.T * std::int64_t{sizeof(float)}, kDeviceAlignment), .plan = kSlack};
  if (traits.math.deterministic)
    scratch.plan += heads * rounded_up(e.T, kScoreTile) * rounded_up(e.S, kScoreTile) * kElementBytes;
  else
    scratch.dq_sums = rounded_up(heads * e.T * e.D * std::int64_t{sizeof(float)}, kDeviceAlignment);
  if (e.H != e.K) scratch.plan += 2 * heads * e.S * e.D * kElementBytes;
  return scratch;
}

std::int64_t cudnn_attention_workspace(const OpView& op, const DeviceTraits& traits) {
  if (!cudnn_takes_attention(op, traits)) return 0;
  if (op.op.kind == OpKind::kAttention) return kCudnnForwardWorkspace;
  return cudnn_gradient_scratch(op, traits).bytes();
}

}  // namespace nadi::inline engines::cuda
