#include "nadi/parallel/parameter_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/graph/ops/collectives.h"
#include "nadi/model/expert_names.h"

namespace nadi::inline describe {
namespace {

// Kernels of all devices like addresses at multiples of so many elements.
constexpr std::int64_t kRoundExtent = 8;

constexpr std::int64_t kMegatronBucketPerRank = 1'000'000;

constexpr std::int64_t kFlatParameterAlignment = 64;    // 128 bytes of elements of 16 bits
constexpr std::int64_t kFlatBucketAlignment = 128;      // and 256 bytes
constexpr std::int64_t kWideBucketAlignment = 1 << 16;  // for the bandwidth of large groups

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t first_bucket_of_megatron(std::int64_t ranks) {
  return std::max(kMostBucketElements, kMegatronBucketPerRank * ranks);
}

std::int64_t full_bucket(const LayoutRules& rules, const BucketsOf& of) {
  if (rules.bucket_elements != kBucketsAsTheyFit) return rules.bucket_elements;
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  switch (rules.rule) {
    case BucketRule::kFitting:
      return std::clamp(of.elements / kBucketsPerRank, kFewestBucketElements, kMostBucketElements);
    case BucketRule::kMegatron:
      return of.first_chunk ? first_bucket_of_megatron(of.ranks) : kAll;
    case BucketRule::kOne:
      return kAll;
  }
  unreachable();
}

StageLayout stage_layout(const LayoutRules& rules, const Plan& plan, std::int64_t stage) {
  StageLayout layout{.rules = rules,
                     .splits_state = plan.zero_stage >= 1 && group_size(plan, GroupKind::kData) > 1,
                     .partial = plan.sequence_parallel,
                     .first_stage = stage == 0};
  for (std::size_t kind = 0; kind < layout.ranks.size(); ++kind)
    layout.ranks[kind] = group_size(plan, static_cast<GroupKind>(kind));
  return layout;
}

std::vector<ReadyParameter> ready_parameters(const ChunkGraph& chunk, const ReadyParametersOf& of) {
  const Graph& graph = chunk.graph;
  std::vector<std::uint32_t> last_write(graph.tensors().size(), 0);
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i)
    for (const OpOutput& output : graph.ops()[i].outputs) last_write[index(output.tensor)] = i;
  std::vector<ReadyParameter> parameters;
  for (const auto& [parameter, gradient] : chunk.gradients) {
    const Tensor& tensor = graph.tensor(parameter);
    const bool of_expert_ranks = of.numbers_experts && is_of_every_expert(tensor.name);
    parameters.push_back(
        {.parameter = {.elements = tensor.shape.elements(),
                       .rows = tensor.shape[0],
                       .decays = tensor.shape.rank() >= 2,
                       .replicated = of.split && tensor.shards.empty() && !of_expert_ranks,
                       .tied = tensor.name == of.tied_parameter,
                       .reduced_over = of_expert_ranks ? GroupKind::kExpertData : GroupKind::kData},
         .ready_after = last_write[index(gradient)]});
  }
  return parameters;
}

ParameterLayout::ParameterLayout(std::span<const ReadyParameter> parameters, const StageLayout& stage) {
  std::int64_t all = 0;
  std::size_t chunks = 0;
  for (const ReadyParameter& each : parameters) {
    all += each.parameter.elements;
    chunks = std::max(chunks, each.chunk + 1);
  }
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return parameters[i].ready_after; });

  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    BucketFiller filler(full_bucket(stage.rules, {.elements = all,
                                                  .ranks = stage.ranks_over(GroupKind::kData),
                                                  .first_chunk = stage.first_stage && chunk == 0}));
    std::array<std::vector<std::size_t>, BucketKind::kCount> open;
    const auto close = [&](BucketKind kind, const BucketFiller::Bucket& content) {
      std::vector<std::size_t>& members = open[kind.index()];
      const ReadyParameter& last = parameters[members.back()];
      const std::int64_t ranks = stage.ranks_over(last.parameter.reduced_over);
      const bool partial = stage.partial && kind.replicated();
      ParameterBucket bucket{
          .members = {},
          .kind = last.parameter,
          .elements = content.elements,
          .part = stage.splits_state && ranks > 1 ? bucket_part(content.elements, ranks) : 0,
          .chunk = chunk,
          .ready_after = last.ready_after,
          .partial = partial,
          .at_end = partial || kind.tied()};
      // A tensor of an odd number of elements, as the bias of a vocabulary has, comes last, so that the others
      // begin at round addresses. Not that of std::ranges, which clang 14 does not compile: the fuzzers are
      // built with it.
      std::stable_partition(members.begin(), members.end(), [&](std::size_t i) {
        return parameters[i].parameter.elements % kRoundExtent == 0;
      });
      std::int64_t start = 0;
      for (const std::size_t i : members) {
        bucket.members.push_back({i, start});
        start += parameters[i].parameter.elements;
      }
      members.clear();
      buckets.push_back(std::move(bucket));
    };
    for (const std::size_t i : order) {
      if (parameters[i].chunk != chunk) continue;
      const BucketKind kind = filler.put(parameters[i].parameter);
      open[kind.index()].push_back(i);
      if (filler.is_full(kind)) close(kind, filler.take(kind));
    }
    filler.take_rest(close);
  }
  std::ranges::stable_sort(buckets, {}, [](const ParameterBucket& bucket) {
    return std::tuple(bucket.at_end, bucket.chunk, bucket.ready_after);
  });

  // Buckets that nobody else has a part in lie one after the other, so that one kernel can go over more of
  // them. A table of tokens ends the row: the memory behind its last row must be free for devices that pad it.
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> open_rows;  // by chunk and kind
  for (ParameterBucket& bucket : buckets) {
    const std::pair key(bucket.chunk, BucketKind::of(bucket.kind).index());
    const auto open = open_rows.find(key);
    const bool alone = stage.ranks_over(bucket.kind.reduced_over) > 1 || bucket.at_end;
    bucket.row = !alone && open != open_rows.end() ? open->second : rows++;
    if (alone) continue;
    open_rows[key] = bucket.row;
    if (parameters[bucket.members.back().parameter].parameter.rows % kRoundExtent != 0) open_rows.erase(key);
  }
}

std::vector<std::size_t> ParameterLayout::by_first_use() const {
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tuple(buckets[i].chunk, std::numeric_limits<std::uint32_t>::max() - buckets[i].ready_after);
  });
  return order;
}

ShardOfTensor shard_of(const ShardedTensor& tensor, std::int64_t place) {
  const bool flat = tensor.form == ShardForm::kFlat;
  const std::int64_t size = flat ? tensor.part : tensor.part * tensor.row;
  const std::int64_t first = place * size - (flat ? tensor.start : 0);  // of the variable, in the tensor
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, tensor.elements);
  return {.begin = begin,
          .end = std::clamp<std::int64_t>(first + size, begin, tensor.elements),
          .at = begin - std::min(first, begin)};
}

PlacesInGroup holders_of(const ShardedTensor& tensor) {
  if (tensor.elements == 0) return {};
  const bool flat = tensor.form == ShardForm::kFlat;
  const std::int64_t size = flat ? tensor.part : tensor.part * tensor.row;
  const std::int64_t start = flat ? tensor.start : 0;
  return {.first = start / size, .end = (start + tensor.elements - 1) / size + 1};
}

FlatBuffer flat_buffer(std::span<const FlatParameter> parameters, const FlatBufferRules& rules) {
  std::int64_t alignment = std::lcm(rules.ranks, kFlatBucketAlignment);
  if (rules.wide_padding) alignment = std::lcm(alignment, kWideBucketAlignment);

  FlatBuffer buffer;
  buffer.first.resize(parameters.size());
  std::int64_t next = 0;          // element of Megatron's buffer, which has padding between buckets
  std::int64_t bucket_start = 0;  // likewise
  std::int64_t before = 0;        // elements of the finished buckets in the file
  const auto finish_bucket = [&](std::int64_t end) {
    before += end - bucket_start;
    bucket_start = rounded_up(end, alignment);
  };
  bool bucket_is_empty = true;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    next = rounded_up(next, kFlatParameterAlignment);
    if (parameters[i].shared) {
      if (next % rules.ranks != 0) next = rounded_up(next, alignment);
      if (!bucket_is_empty) {
        finish_bucket(next);
        buffer.lost = bucket_start - next;
      }
    }
    buffer.first[i] = before + next - bucket_start;
    next += parameters[i].elements;
    bucket_is_empty = false;
    if (parameters[i].shared || (rules.full > 0 && next - bucket_start >= rules.full)) {
      finish_bucket(next);
      next = bucket_start;
      bucket_is_empty = true;
    }
  }
  buffer.elements = before + (bucket_is_empty ? 0 : next - bucket_start);
  return buffer;
}

}  // namespace nadi::inline describe
