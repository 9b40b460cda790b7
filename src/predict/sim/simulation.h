// Predicts a step on a cluster: when everything runs on every rank, what the time goes to, how much memory it
// takes and what goes over the network.
//
//   const StagePrograms programs(config, request, plan);
//   const SimulationResult result = simulate_step(programs, cluster, {.symmetry = true});
//   result.iteration_time                                   // of the slowest rank
//   result.classes[0].breakdown.bubble
//
// simulated_traces.h does the same for traces; both run through one replay (replay_job.h).
//
// Meaning. Time is whole nanoseconds. Computation of a rank runs one op after the other, in the order of its
// program. Communication runs beside it and starts when what it waits for has ended: a collective when the
// last member has come to it, a message when both ends have (rendezvous, as NCCL's send and recv; since a
// program may post a receive as soon as the one before it has ended, senders rarely wait). All members of a
// collective, and both ends of a message, end together. So the result does not depend on the order in which
// the simulator looks at ranks, and is the same on every machine.
//
// Where launching takes time (OpTime::issue), the host of a rank launches nodes in the order of its program,
// and none starts before it was launched. Where a fabric says that communication takes computing power
// (Fabric::compute_share), as between processes of one CPU, computation is slowed down by it.
//
// Ranks are merged where program, device, perturbation, and the classes of and the times to all partners are
// the same: they then do the same at the same time, and one of them is simulated for all. `symmetry` = false
// simulates each; a test proves that the result is the same.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/device_model.h"
#include "nadi/sim/network_model.h"

namespace nadi::inline predict {

enum class NetworkDetail : std::uint8_t {
  kAnalytical,  // closed forms; sharing of links as far as it is known beforehand
  kFlow,        // whatever is under way at the same time shares links fairly (flow_network.h)
};
std::string_view to_string(NetworkDetail detail);  // "analytical", "flow"

// A rank whose computation takes `factor` times as long.
struct SlowRank {
  Rank rank{};
  double factor = 1;
};

// Every op of every rank takes longer or shorter by a random factor: 1 + deviation * normal, at least 0.
struct Jitter {
  double deviation = 0;  // 0 means none
  std::uint64_t seed = 1;
};

// How frameworks of other times run a program. The defaults are what its dependencies allow.
struct OverlapOptions {
  // Messages between stages stop the computation of both ranks until they have arrived, in the exchanges in
  // which Megatron-LM posts them (exchange_order.h).
  bool blocking_messages = false;
  // But with several virtual stages they run beside the computation, and stop no host.
  bool interleaved_messages_overlap = false;
  // Collectives of these groups ("dp", "embedding") wait until the last computation of the backward pass has
  // ended.
  bool reduce_after_backward = false;
  // Collectives stop the computation of the rank.
  bool blocking_collectives = false;
  // The host launches nothing until messages that it posted have arrived (Megatron synchronises there).
  bool messages_stop_host = false;
  // Each tensor-parallel rank sends its part of a message between stages, and the receivers gather it; not
  // with sequence parallelism, where each has its own message.
  bool scattered_messages = false;
  // Element type in which gradients are reduced; nothing means the one that the program has them in. Only the size
  // on the network changes.
  std::optional<DType> gradient_dtype = {};

  // As they are for a plan.
  OverlapOptions with(std::int64_t virtual_stages) const {
    OverlapOptions options = *this;
    if (!interleaved_messages_overlap || virtual_stages == 1) return options;
    options.blocking_messages = options.messages_stop_host = false;
    return options;
  }
};

// May replace the times of computation that the device model gives: measured layers, for instance. `times` is
// by op of the graph, of one micro-batch.
using RetimeOps = std::function<void(std::int64_t stage, const Program& program, std::size_t graph,
                                     const DeviceSpec& device, std::span<OpTime> times)>;

struct SimulationOptions {
  NetworkDetail network = NetworkDetail::kAnalytical;
  CollectiveAlgorithm collective = CollectiveAlgorithm::kAuto;
  std::vector<LinkFault> faults = {};  // failed or slow links
  bool symmetry = true;
  std::vector<SlowRank> slow = {};
  Jitter jitter = {};
  OverlapOptions overlap = {};
  RetimeOps retime = {};
  std::vector<DeviceId> placement = {};  // by rank; empty means rank r on device r
  bool keep_times = true;                // SimulatedClass::nodes and SimulatedMemory::over_time
  bool links = false;                    // SimulationResult::links
};

struct NodeTime {
  Nanoseconds start = {}, end = {};
  bool operator==(const NodeTime&) const = default;
};

// Communication of one kind, as a rank takes part in it.
struct CommunicationShare {
  std::string group = {};  // "tp", "dp", "pp"; of a trace its process group, "" for messages
  std::string op = {};     // "all_reduce", "message"
  std::int64_t count = 0;
  Bytes bytes = {};          // what the rank gives; of messages what it sends and receives
  Nanoseconds busy = {};     // summed over all, whether something else ran beside it or not
  Nanoseconds exposed = {};  // of that the rank's computation waited

  bool operator==(const CommunicationShare&) const = default;
};

// Where the time of a rank went: `compute`, `host`, `exposed` of all communication and `bubble` add up to the
// iteration time.
struct RankBreakdown {
  std::array<Nanoseconds, kPhaseCount> compute = {};  // by phase; of a trace without phases all in kForward
  Nanoseconds host = {};                              // the device waited for its host (traces)
  std::vector<CommunicationShare> communication = {};
  Nanoseconds bubble = {};  // idle: other ranks had not come yet, or had still to finish

  Nanoseconds computed() const;  // all phases
  Nanoseconds exposed() const;
  bool operator==(const RankBreakdown&) const = default;
};

struct MemoryPart {
  std::string what;  // "parameters", "gradients", "optimizer state", "activations of layer transformer.h.3"
  Bytes size = {};
};

struct MemoryPoint {
  Nanoseconds time = {};
  Bytes used = {};
};

struct SimulatedMemory {
  Bytes resident = {};  // all the time: weights, gradients, optimizer state
  Bytes peak = {};      // with the most values alive at once
  Bytes reserved = {};  // what an engine takes that places all values in one arena beforehand: >= peak
  Nanoseconds peak_at = {};
  std::vector<MemoryPart> at_peak = {};  // largest first
  Bytes capacity = {};                   // of the device; 0 means not known
  std::optional<Nanoseconds> exceeded_at = {};
  std::vector<MemoryPoint> over_time = {};  // changes, in order; before the first: `resident`
};

// Ranks that do the same at the same time.
struct SimulatedClass {
  std::vector<Rank> ranks = {};  // ascending
  std::int32_t source = 0;       // the stage of the plan, or the position of the trace
  DeviceId device{};             // of the first rank
  Nanoseconds end = {};          // of its last node
  RankBreakdown breakdown = {};
  std::vector<NodeTime> nodes =
      {};  // by StepOpId of the walk over the stage's program, or by row of the trace
  SimulatedMemory memory = {};
};

// Where times of computation came from: nodes of all ranks.
struct TimeSourceCounts {
  std::int64_t model = 0, measured = 0, interpolated = 0;
  std::int64_t given = 0;     // by RetimeOps
  std::int64_t recorded = 0;  // in the trace
  std::int64_t scaled = 0;    // recorded, on another device, of unknown shape
  std::int64_t unknown = 0;   // neither recorded nor a shape: taken to last no time
};

inline constexpr std::int64_t kMostDevicesByLink = 512;

// What goes through one link in the step.
struct LinkTraffic {
  std::string name = {};  // "device5.up" (network_topology.h)
  std::int32_t level = 0;
  Bytes bytes = {};
  ByteRate bandwidth = {};  // what a transport reaches of it; 0 means failed
};

// What goes through the links of a level in the step, each link by itself: a message from node to node is on
// links of both.
struct LevelTraffic {
  std::string name = {};  // "inside nodes", "nodes"
  std::string fabric = {};
  Bytes total = {};
};

struct SimulationResult {
  Nanoseconds iteration_time = {};
  std::int64_t ranks = 0;
  std::vector<SimulatedClass> classes = {};  // by first rank
  std::int64_t nodes = 0;                    // of all ranks
  std::int64_t simulated_nodes = 0;          // of those that stand for the others
  TimeSourceCounts sources = {};
  std::vector<LevelTraffic> traffic = {};
  // All links with their traffic, by level and place, where SimulationOptions::links asks for them; empty for clusters of
  // more than kMostDevicesByLink devices.
  std::vector<LinkTraffic> links = {};

  const SimulatedClass& class_of(Rank rank) const;
};

// Throws Error: infeasible where the cluster has fewer devices than the plan has ranks; usage for a slow rank
// that is not in the plan; input where ranks wait for each other for ever, with who waits for whom. Memory
// that does not suffice is no error here: see SimulatedMemory::exceeded_at.
SimulationResult simulate_step(const StagePrograms& programs, const Cluster& cluster,
                               const SimulationOptions& options = {});

}  // namespace nadi::inline predict
