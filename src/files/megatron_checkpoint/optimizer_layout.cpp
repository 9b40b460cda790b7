#include "nadi/megatron_checkpoint/optimizer_layout.h"

#include <numeric>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

constexpr std::int64_t kParameterAlignment = 64;        // 128 bytes of elements of 16 bits
constexpr std::int64_t kBucketAlignment = 128;          // and 256 bytes
constexpr std::int64_t kWideBucketAlignment = 1 << 16;  // for the bandwidth of large groups

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

}  // namespace

std::vector<OptimizerGroup> optimizer_groups(std::span<const ShardTensor> parameters) {
  std::vector<OptimizerGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool decays = parameters[i].shape.rank() > 1 && !parameters[i].name.ends_with(".bias");
    OptimizerGroup* group = nullptr;
    for (OptimizerGroup& candidate : groups)
      if (candidate.decays == decays) group = &candidate;
    if (group == nullptr) group = &groups.emplace_back(OptimizerGroup{.decays = decays});
    group->parameters.push_back(i);
  }
  return groups;
}

FlatBuffer flat_buffer(std::span<const ShardTensor> parameters, const BucketRules& rules) {
  std::int64_t alignment = std::lcm(rules.data_parallel, kBucketAlignment);
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
    const ShardTensor& parameter = parameters[i];
    const bool is_shared = parameter.name == rules.shared_embedding;
    next = rounded_up(next, kParameterAlignment);
    if (is_shared) {
      if (next % rules.data_parallel != 0) next = rounded_up(next, alignment);
      if (!bucket_is_empty) {
        finish_bucket(next);
        if (bucket_start != next)
          throw Error(
              ErrorKind::kInfeasible, {},
              format("Megatron's distributed optimizer loses the first {} elements of '{}' of such a model",
                     bucket_start - next, parameter.name),
              "its parameters must have multiples of 128 elements, or use the plain optimizer");
      }
    }
    buffer.first[i] = before + next - bucket_start;
    next += parameter.shape.elements();
    bucket_is_empty = false;
    if (is_shared || (rules.bucket_elements && next - bucket_start >= *rules.bucket_elements)) {
      finish_bucket(next);
      next = bucket_start;
      bucket_is_empty = true;
    }
  }
  buffer.elements = before + (bucket_is_empty ? 0 : next - bucket_start);
  return buffer;
}

}  // namespace nadi::inline files
