// The memory of a stage's ranks over the time of a simulated step.
//
//   const ReplayedMemory memory(program);
//   const SimulatedMemory used = memory.over_time(stage_replay, times, capacity);
//
// Values take their bytes when the op that writes them starts, and give them back when the last op that needs
// them has ended (graph/value_lifetimes.h), each micro-batch for itself; so a value that is received early
// takes memory early. What stays for the whole step (weights, gradients, optimizer state, inputs) is
// resident.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/parallel/program.h"
#include "nadi/sim/replay_program.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

class ReplayedMemory {
 public:
  explicit ReplayedMemory(const Program& program);

  // `times` by node of the replay. Nodes that start when others end take what these give back.
  SimulatedMemory over_time(const StageReplay& stage, std::span<const NodeTime> times, Bytes capacity,
                            bool keep_points) const;

  // Without times: the most that is alive in the order of the program.
  SimulatedMemory in_order(Bytes capacity) const;

 private:
  // What an op of a graph takes and gives back: for the backward pass, and the rest.
  struct Change {
    std::int64_t takes = 0, gives = 0;
    std::int64_t takes_kept = 0, gives_kept = 0;
  };

  void add_graph(const Graph& graph);
  SimulatedMemory resident_only(Bytes capacity) const;
  void fill_peak(SimulatedMemory& memory, std::int64_t values, std::int64_t kept, Nanoseconds at) const;

  std::vector<Change> changes_;  // by StageReplay::graph_ops
  std::vector<MemoryPart> resident_parts_;
  Bytes resident_;
  Bytes reserved_;  // for values
  Bytes live_;
};

}  // namespace nadi::inline predict
