#include "nadi/cluster/astra_collectives.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/cluster/cluster_keys.h"
#include "nadi/cluster/cluster_values.h"

namespace nadi::inline describe {
namespace {

constexpr std::int64_t kMostChunks = 1 << 20;
constexpr std::int64_t kMostWindow = 10'000'000;

struct NamedAlgorithm {
  std::string_view name;
  AstraAlgorithm algorithm;
};

constexpr std::array kAlgorithms{
    NamedAlgorithm{"ring", {AstraAlgorithmKind::kRing}},
    NamedAlgorithm{"direct", {AstraAlgorithmKind::kDirect}},
    NamedAlgorithm{"halvingDoubling", {AstraAlgorithmKind::kHalvingDoubling}},
    NamedAlgorithm{"doubleBinaryTree", {AstraAlgorithmKind::kDoubleBinaryTree}},
    NamedAlgorithm{"oneRing", {AstraAlgorithmKind::kRing, true}},
    NamedAlgorithm{"oneDirect", {AstraAlgorithmKind::kDirect, true}},
    NamedAlgorithm{"oneHalvingDoubling", {AstraAlgorithmKind::kHalvingDoubling, true}},
};

std::vector<AstraAlgorithm> algorithms_of(const JsonValue& list) {
  std::vector<AstraAlgorithm> algorithms;
  for (const JsonValue& name : list.elements()) {
    const auto algorithm = astra_algorithm_named(name.as_string());
    if (!algorithm)
      throw error_at(name, format("unknown algorithm '{}'", name.as_string()),
                     did_you_mean(name.as_string(), astra_algorithm_names()));
    algorithms.push_back(*algorithm);
  }
  return algorithms;
}

// The simulator leaves dimensions without an algorithm out of a collective, which then is wrong.
std::vector<AstraAlgorithm> for_dimensions(const JsonValue& system, std::string_view key,
                                           std::size_t dimensions) {
  const auto list = system.find(key);
  if (!list) return {};
  std::vector<AstraAlgorithm> algorithms = algorithms_of(*list);
  const bool over_all = !algorithms.empty() && algorithms.front().over_all;
  if (algorithms.size() != dimensions && !over_all)
    throw error_at(*list,
                   format("'{}' has {} algorithm{} for {} dimension{} of the network", key, algorithms.size(),
                          algorithms.size() == 1 ? "" : "s", dimensions, dimensions == 1 ? "" : "s"),
                   "give one for each dimension, or one over all: oneRing, oneDirect, oneHalvingDoubling");
  if (over_all) algorithms.resize(1);
  return algorithms;
}

std::int32_t chunks_of(const JsonValue& value) {
  return static_cast<std::int32_t>(count_of(value, 1, kMostChunks));
}

}  // namespace

std::string to_string(const AstraAlgorithm& algorithm) {
  for (const NamedAlgorithm& one : kAlgorithms)
    if (one.algorithm.kind == algorithm.kind && one.algorithm.over_all == algorithm.over_all)
      return algorithm.window == 0 ? std::string(one.name) : format("{}{}", one.name, algorithm.window);
  return "ring";
}

std::optional<AstraAlgorithm> astra_algorithm_named(std::string_view name) {
  for (const NamedAlgorithm& one : kAlgorithms) {
    if (name == one.name) return one.algorithm;
    if (one.algorithm.kind != AstraAlgorithmKind::kDirect || !name.starts_with(one.name)) continue;
    AstraAlgorithm algorithm = one.algorithm;
    const char* const end = name.data() + name.size();
    const auto [stop, problem] = std::from_chars(name.data() + one.name.size(), end, algorithm.window);
    if (problem == std::errc{} && stop == end && algorithm.window >= 1 && algorithm.window <= kMostWindow)
      return algorithm;
  }
  return std::nullopt;
}

std::vector<std::string_view> astra_algorithm_names() {
  std::vector<std::string_view> names;
  for (const NamedAlgorithm& one : kAlgorithms) names.push_back(one.name);
  return names;
}

const std::vector<AstraAlgorithm>* AstraCollectives::of(CollectiveType type) const {
  switch (type) {
    case CollectiveType::kAllReduce:
      return &all_reduce;
    case CollectiveType::kAllGather:
      return &all_gather;
    case CollectiveType::kReduceScatter:
      return &reduce_scatter;
    case CollectiveType::kAllToAll:
      return &all_to_all;
    default:
      return nullptr;
  }
}

AstraCollectives astra_collectives_of_system(const JsonValue& system, std::size_t dimensions) {
  static constexpr std::array<std::string_view, 2> kOptimizations = {"baseline", "localBWAware"};
  AstraCollectives result;
  result.all_reduce = for_dimensions(system, "all-reduce-implementation", dimensions);
  result.all_gather = for_dimensions(system, "all-gather-implementation", dimensions);
  result.reduce_scatter = for_dimensions(system, "reduce-scatter-implementation", dimensions);
  result.all_to_all = for_dimensions(system, "all-to-all-implementation", dimensions);
  if (const auto value = system.find("collective-optimization")) {
    if (std::ranges::find(kOptimizations, value->as_string()) == kOptimizations.end())
      throw error_at(*value, format("unknown collective optimization '{}'", value->as_string()),
                     did_you_mean(value->as_string(), kOptimizations));
    result.local_bandwidth_aware = value->as_string() == kOptimizations[1];
  }
  if (const auto value = system.find("preferred-dataset-splits")) result.splits = chunks_of(*value);
  if (const auto value = system.find("active-chunks-per-dimension")) result.active_chunks = chunks_of(*value);
  constexpr double kMost = 1e9;
  if (const auto value = system.find("endpoint-delay"))
    result.endpoint_delay = Nanoseconds{static_cast<std::int64_t>(number_of(*value, 0, kMost))};
  return result;
}

AstraCollectives read_astra_collectives(const JsonValue& object) {
  object.refuse_keys_except(kAstraKeys);
  AstraCollectives result;
  if (const auto list = object.find("all_reduce")) result.all_reduce = algorithms_of(*list);
  if (const auto list = object.find("all_gather")) result.all_gather = algorithms_of(*list);
  if (const auto list = object.find("reduce_scatter")) result.reduce_scatter = algorithms_of(*list);
  if (const auto list = object.find("all_to_all")) result.all_to_all = algorithms_of(*list);
  if (const auto value = object.find("local_bandwidth_aware"))
    result.local_bandwidth_aware = value->as_bool();
  if (const auto value = object.find("splits")) result.splits = chunks_of(*value);
  if (const auto value = object.find("active_chunks")) result.active_chunks = chunks_of(*value);
  if (const auto value = object.find("endpoint_delay")) result.endpoint_delay = duration_of(*value);
  return result;
}

}  // namespace nadi::inline describe
