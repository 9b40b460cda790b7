// How ASTRA-sim's system layer carries collectives out, as its system file says. A cluster that was read from
// its files has one (Cluster::astra); sim/astra_network.h has what the time of a collective then is.
//
//   AstraCollectives how;
//   how.of(CollectiveType::kAllReduce);    // an algorithm for each dimension of the network
//
// In cluster files of ours it is the key `astra_sim`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/collective_type.h"

namespace nadi::inline ground {
class JsonValue;
}  // namespace nadi::inline ground

namespace nadi::inline describe {

enum class AstraAlgorithmKind : std::uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree };

struct AstraAlgorithm {
  AstraAlgorithmKind kind = AstraAlgorithmKind::kRing;
  bool over_all = false;    // "oneRing" and the like: one dimension over all devices
  std::int32_t window = 0;  // of direct: messages of a device that are under way; 0 means all

  bool operator==(const AstraAlgorithm&) const = default;
};

std::string to_string(const AstraAlgorithm& algorithm);  // "ring", "oneDirect4"
std::optional<AstraAlgorithm> astra_algorithm_named(std::string_view name);
std::vector<std::string_view> astra_algorithm_names();

struct AstraCollectives {
  // By dimension, innermost first; empty means the system file does not say, and a ring in each is taken.
  std::vector<AstraAlgorithm> all_reduce = {}, all_gather = {}, reduce_scatter = {}, all_to_all = {};
  // `collective-optimization`: an all-reduce is a reduce-scatter and an all-gather in all dimensions but the
  // last, so that outer dimensions move less ("localBWAware"); else an all-reduce in each ("baseline").
  bool local_bandwidth_aware = false;
  std::int32_t splits = 1;  // `preferred-dataset-splits`: chunks of a collective
  std::int32_t active_chunks =
      1;  // `active-chunks-per-dimension`: how many of them a dimension moves at once
  Nanoseconds endpoint_delay{10};  // of each message at its ends; 10 is the simulator's default

  const std::vector<AstraAlgorithm>* of(CollectiveType type) const;  // null: none that it carries out
  bool operator==(const AstraCollectives&) const = default;
};

// The keys of the system file that this is made of, among others, which the caller checks. `dimensions` of
// the network.
AstraCollectives astra_collectives_of_system(const JsonValue& system, std::size_t dimensions);

// As in a cluster file of ours.
AstraCollectives read_astra_collectives(const JsonValue& object);

}  // namespace nadi::inline describe
