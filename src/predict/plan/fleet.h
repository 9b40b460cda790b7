// How many of which nodes to rent: a search over sub-clusters.
//
//   const Fleet fleet = read_fleet("fleet.json");
//   const FleetAnswer answer = search_fleet(question, fleet, {});
//   for (const std::size_t i : answer.front) answer.points[i].plan      // no other is both faster and
//   cheaper
//
// A fleet is a cluster with, per kind of node, how many may be rented at least and at most:
//
//   {"cluster": "a100x1-a10x7", "nodes": {"p4d.24xlarge": {"fewest": 0, "most": 8}}}
//
// "cluster" is a name of the catalogue, a path (relative to the file), or a cluster itself. A kind that
// "nodes" does not name is rented as the cluster has it. Unknown keys and kinds are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline predict {

struct FleetChoice {
  std::int32_t kind = 0;  // index into Cluster::kinds
  std::int32_t fewest = 0, most = 0;
  std::int32_t step = 1;  // between numbers that are looked at; the last one is `most` always
};
std::vector<std::int32_t> counts_of(const FleetChoice& choice);

struct Fleet {
  Cluster cluster;  // with the most nodes of each kind
  std::vector<FleetChoice> choices;
};

struct FleetPoint {
  std::vector<std::int32_t> counts;  // by choice
  RankedPlan plan;                   // the best one on these nodes, all of them rented
  // By which part of its time, by estimate, a plan on all of these nodes may be faster at most; nullopt means the
  // mix was searched with little effort.
  std::optional<double> gap = {};
};

struct FleetAnswer {
  std::vector<FleetPoint> points;  // sub-clusters on which something fits
  std::vector<std::size_t> front;  // of time and money, fastest first
  std::int64_t evaluated = 0;      // plans
  std::int64_t subclusters = 0;
  bool stopped = false;
};

// Parts of a cluster: from none to all of its nodes of each kind, in steps that give `most_mixes` at most.
Fleet parts_of(const Cluster& cluster, std::int64_t most_mixes);

// Errors (input) name the file and the key; a cluster of another name is what load_cluster() throws.
Fleet read_fleet(const std::filesystem::path& path);

// question.cluster is of no account. question.limits hold for every point.
FleetAnswer search_fleet(const PlanQuestion& question, const Fleet& fleet, const SearchOptions& options);

// A front of time and money by the simulator's times, of plans that are on one by estimate.
struct ConfirmedFront {
  std::vector<RankedPlan> best;    // fastest first: each is cheaper than all before it
  std::vector<RankedPlan> behind;  // plans that others beat in both, and plans without a price; by time
};

// Plans without a simulated time are simulated. `go_on` is called before each with how many are done, of how
// many; where it says no, the rest keep their estimates.
ConfirmedFront confirmed_front(const PlanQuestion& question, std::vector<RankedPlan> plans,
                               const std::function<bool(std::int64_t, std::int64_t)>& go_on);

}  // namespace nadi::inline predict
