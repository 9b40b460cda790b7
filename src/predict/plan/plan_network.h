// Who communicates with whom under a plan on given nodes, and how long it takes: what the simulator works out
// rank by rank (sim/replay_network.h), node by node.
//
//   PlanNetwork network(cluster, CollectiveAlgorithm::kAuto);
//   const PlacedPlan& placed = network.place(plan, nodes);
//   network.collective(CollectiveType::kAllReduce, size, placed.stages[0].data);
//
// Groups whose members lie alike communicate at the same time and share links, and so do messages over the
// same distance. Where ranks of a stage differ (in the kind of their nodes, or in what they share), the stage
// has one entry for each kind, and whoever asks takes the slowest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/parallel/plan.h"
#include "nadi/plan/plan_candidate.h"
#include "nadi/sim/network_model.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline predict {

struct GroupUse {
  GroupId group{};
  std::int32_t sharing = 1;
  std::int32_t members = 1;  // 1 means no communication

  bool operator==(const GroupUse&) const = default;
};

struct MessageWay {
  DeviceId from{}, to{};
  std::int32_t sharing = 1;
  std::int32_t kinds = 0;  // of both nodes, and whether they are one: what the time depends on besides
};

struct PlacedRanks {
  std::int32_t device = 0;  // index into Cluster::devices
  GroupUse tensor;
  bool operator==(const PlacedRanks&) const = default;
};

struct PlacedStage {
  std::vector<PlacedRanks> ranks;  // each kind once
  GroupUse context;
  std::vector<GroupUse> data;
  Bytes memory = {};  // of the smallest device; 0 means one of them is not known
};

struct PlacedPlan {
  std::vector<PlacedStage> stages;
  // From stage s to the next one, from the last to the first with virtual stages; and back.
  std::vector<std::vector<MessageWay>> up, down;
  std::vector<GroupUse> embedding;  // of first and last stage
  GroupUse model;                   // all parts of a copy
};

class PlanNetwork {
 public:
  // The cluster must outlive this. Not thread-safe.
  PlanNetwork(const Cluster& cluster, CollectiveAlgorithm algorithm);
  ~PlanNetwork();

  // Valid until the next call. The runs have as many devices as the plan has ranks.
  const PlacedPlan& place(const Plan& plan, std::span<const NodeRun> nodes);

  Nanoseconds collective(CollectiveType type, Bytes size, const GroupUse& use);
  Nanoseconds message(Bytes size, const MessageWay& way);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline predict
