// Simulates traces: ours, written without running or recorded, and those of other programs.
//
//   const TraceSet set = read_trace_set({"out/l70.0.et", "out/l70.1.et"});
//   const SimulationResult result = simulate_traces(set, cluster, {}, {.durations = TraceDurations::kModel});
//   result.classes[0].nodes[row]                               // of trace set.traces()[classes[0].source]
//
// Nodes start when what they depend on has ended and their stream is free (replay_trace.h). Their times are
// those that were recorded, or those of the cluster's devices by what the nodes compute (trace_work.h). A
// collective of `pg_name` is among the members of that group; without a group among all ranks. Ranks of a
// group that have no trace count for the time of its collectives and are not waited for; messages to and
// from such ranks take their time, too, and meet nobody. Memory is not followed: nodes of traces do not say
// how long tensors live. Nodes of the host keep their recorded times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/run_reading.h"
#include "nadi/sim/replay_trace.h"
#include "nadi/sim/simulation.h"
#include "nadi/sim/trace_scaling.h"

namespace nadi::inline predict {

class TraceSet {
 public:
  struct RankTrace {
    std::int64_t rank = 0;
    std::string file = {};
    TraceReplay replay;
  };

  // Takes what the simulation needs; the trace may go. Error (usage) for a second trace of a rank.
  void add(const Trace& trace, std::int64_t rank, std::string file = "");
  // Members of `pg_name`, in the order of their places.
  void add_group(std::string name, std::vector<std::int64_t> members);

  const std::vector<RankTrace>& traces() const { return traces_; }  // by rank
  const std::map<std::string, std::vector<std::int64_t>, std::less<>>& groups() const { return groups_; }
  bool has_times() const;  // recorded ones, in all traces
  // Degrees of the recorded run, where its traces say them.
  void set_degrees(const std::optional<TraceDegrees>& degrees);
  const std::optional<TraceDegrees>& degrees() const { return degrees_; }

 private:
  std::vector<RankTrace> traces_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> groups_;
  std::optional<TraceDegrees> degrees_;
};

// What the metadata of a trace of ours says.
std::optional<TraceDegrees> degrees_of(const GlobalMetadata& metadata);

// Files as read_run() takes them, and the groups file beside them.
TraceSet read_trace_set(const std::vector<std::filesystem::path>& files,
                        const RunReadingOptions& options = {});

enum class TraceDurations : std::uint8_t {
  kRecorded,  // where the trace has them, else the model
  kModel,     // of the cluster's devices; recorded ones only where neither shapes nor counts are known
};
std::string_view to_string(TraceDurations durations);  // "recorded", "model"

struct TraceSimulationOptions {
  TraceDurations durations = TraceDurations::kRecorded;
  // So many ranks run the traces: replicas of the recorded run (trace_scaling.h). A trace of one rank is run
  // by all, and all are in each collective. Nothing means the ranks that the traces are of.
  std::optional<std::int64_t> ranks = {};
  std::optional<TraceDegrees> degrees = {};  // of the recorded run; wins over what the traces say
  // What the traces were recorded on. Ops of unknown work then take as much longer as that device's memory is
  // faster than the new one's. Without it they keep their times.
  const DeviceSpec* recorded_on = nullptr;
};

// Throws Error: infeasible for more ranks than devices; usage where traces with messages are to be run by
// other ranks; input where ranks wait for each other for ever.
SimulationResult simulate_traces(const TraceSet& set, const Cluster& cluster,
                                 const SimulationOptions& options,
                                 const TraceSimulationOptions& trace_options = {});

}  // namespace nadi::inline predict
