#include "nadi/parallel/chunk_cost.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"
#include "nadi/model/model.h"
#include "nadi/parallel/chunk_graph.h"

namespace nadi::inline describe {
Plan smallest_plan(const ChunkKey& key) {
  Plan plan{.tp = key.tp, .cp = key.cp, .sequence_parallel = key.sequence_parallel};
  plan.dp = key.reduces && key.cp == 1 ? 2 : 1;
  plan.pp = key.first && key.last ? 1 : key.first || key.last ? 2 : 3;
  return plan;
}

ChunkGraph build_chunk(const ModelConfig& config, const ChunkKey& key) {
  const bool repeated = key.layers == ChunkKey::kRepeated;
  const Plan plan = smallest_plan(key);
  return build_chunk(config, plan,
                     {.options = {.mode = ForwardMode::kTrain,
                                  .batch_size = key.micro_batch_size,
                                  .seq_length = key.seq_length / key.cp,
                                  .dtype = key.dtype,
                                  .fp8 = key.fp8,
                                  .fused_attention = key.fused_attention,
                                  .experts = key.experts},
                      .whole_tokens = key.seq_length,
                      .number = key.first ? 0 : 1,
                      .chunks = plan.pp,
                      .first_layer = 0,
                      .end_layer = repeated ? kUnitsBuilt * key.layers_per_unit() : key.layers,
                      .recompute = {key.granularity, key.method, key.recomputed_layers},
                      .accumulate = key.accumulates,
                      .names = false});
}

std::int64_t ChunkKey::layers_per_unit() const {
  const bool together = granularity == Recompute::Granularity::kFull && method == Recompute::Method::kUniform;
  return together ? recomputed_layers : 1;
}

std::size_t ChunkKeyHash::operator()(const ChunkKey& key) const {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) { hash = hash_with(hash, value); };
  mix(static_cast<std::uint64_t>(key.layers));
  mix(static_cast<std::uint64_t>(key.tp << 32 | key.cp));
  mix(static_cast<std::uint64_t>(key.micro_batch_size << 32 | key.seq_length));
  mix(static_cast<std::uint64_t>(key.recomputed_layers));
  std::uint64_t bits = static_cast<std::uint64_t>(key.dtype);
  bits = bits << 4 | static_cast<std::uint64_t>(key.granularity);
  bits = bits << 4 | static_cast<std::uint64_t>(key.method);
  for (const bool bit : {key.fp8, key.fused_attention, key.sequence_parallel, key.first, key.last,
                         key.accumulates, key.reduces})
    bits = bits << 1 | static_cast<std::uint64_t>(bit);
  mix(bits);
  return hash;
}

ChunkKey chunk_key(const StepRequest& request, const Plan& plan, const ChunkPlace& place) {
  check(!plan.numbers_experts(), "costs of chunks are put together where experts are split as all else");
  // A capacity is rounded up: it is not proportional to the batch (graph_batch.h).
  if (request.experts.padded)
    throw usage_error("plans are searched for experts that are not padded to a capacity",
                      "leave the padding out");
  ChunkKey key{.tp = plan.tp,
               .cp = plan.cp,
               .micro_batch_size = request.batch_size / plan.micro_batches,
               .seq_length = request.seq_length,
               .dtype = request.dtype,
               .granularity = request.recompute.granularity,
               .fp8 = request.fp8,
               .experts = request.experts,
               .fused_attention = request.fused_attention,
               .sequence_parallel = plan.sequence_parallel,
               .first = place.first,
               .last = place.last,
               .accumulates = plan.micro_batches > 1 || request.keeps_gradients,
               // Only the first chunk orders its gradients for their reduction.
               .reduces = place.first && group_size(plan, GroupKind::kData) > 1};
  if (key.granularity == Recompute::Granularity::kFull) {
    key.method = request.recompute.method;
    key.recomputed_layers = request.recompute.layers;
    // The first layers one by one and the others not at all: where that is all layers, they are alike.
    if (key.method == Recompute::Method::kBlock && key.recomputed_layers >= place.layers) {
      key.method = Recompute::Method::kUniform;
      key.recomputed_layers = 1;
    }
  }
  const std::int64_t unit = key.layers_per_unit();
  const bool alike = key.method == Recompute::Method::kUniform;
  if (!alike || place.layers % unit != 0 || place.layers / unit < kFewestUnits) key.layers = place.layers;
  return key;
}

std::vector<ReadyParameter> parameters_by_readiness(const ModelConfig& config, const ChunkKey& key,
                                                    const ChunkGraph& chunk) {
  std::string tied;
  if (key.first != key.last && config.tied_embeddings) tied = model_of(config.architecture).word_embeddings();
  std::vector<ReadyParameter> parameters =
      ready_parameters(chunk, {.split = key.tp > 1, .tied_parameter = tied});
  std::ranges::stable_sort(parameters, {}, &ReadyParameter::ready_after);
  return parameters;
}

}  // namespace nadi::inline describe
