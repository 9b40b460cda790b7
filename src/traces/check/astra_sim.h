// What ASTRA-sim makes of a Chakra trace, read in its workload layer and in Chakra's feeders: the version of
// March 2026 (feeder v3), which was also given traces that break each rule, and that of June 2025 with the
// feeder that Chakra's own repository has.
//
// Both simulate a node when what it depends on has ended: a computation by its duration in whole microseconds
// (1 ns where that is 0) or by a roofline of num_ops and tensor_size; memory by tensor_size; all-reduce,
// all-to-all, all-gather and reduce-scatter on the network; a broadcast by its recorded duration; and nothing
// else.
//   - Feeder v3 follows data and control dependencies, stops at an id that is not in the file and at an
//     attribute that is needed and missing, and takes integers of any kind. Its statistics stop at METADATA.
//   - A roofline wants num_ops and tensor_size of every computation that is not the host's, which is replayed
//     by its duration. num_ops of 0 beside a tensor_size gives 0 / 0, a time without end. And the event queue
//     stops at a first event that takes less than 1 ns.
//   - The older feeder follows data dependencies only, never starts a node whose parent is missing, and takes
//     0 for an attribute of another kind than it expects.
// Whether the ranks of a run wait for each other for ever is told by playing them: astra_sim_play.h.
#pragma once

namespace nadi::inline traces {

struct SimulatedNode;
struct SimulatedTrace;
class VerdictMaker;

void check_file_for_astra_sim(const SimulatedTrace& trace, VerdictMaker& verdict);
void check_node_for_astra_sim(const SimulatedNode& node, VerdictMaker& verdict);

void check_file_for_astra_sim_roofline(const SimulatedTrace& trace, VerdictMaker& verdict);
void check_node_for_astra_sim_roofline(const SimulatedNode& node, VerdictMaker& verdict);

void check_file_for_astra_sim_2024(const SimulatedTrace& trace, VerdictMaker& verdict);
void check_node_for_astra_sim_2024(const SimulatedNode& node, VerdictMaker& verdict);

}  // namespace nadi::inline traces
