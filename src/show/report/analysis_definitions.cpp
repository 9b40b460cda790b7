#include "nadi/report/analysis_definitions.h"

#include <algorithm>

namespace nadi::inline show {
namespace {

struct TableDefinition {
  std::string_view table, text;
};

constexpr TableDefinition kTables[] = {
    {"verdict",
     "The time of the devices of all ranks is split so that each moment counts once: computation, else "
     "communication, else copies, else idle. If computation takes half of it or more, it limits the "
     "step. Otherwise the largest of the other three does, and the largest of its causes gives the "
     "verdict its name. Each figure of the verdict is in a table below."},
    {"headline",
     "The figures that a report begins with. A step of a rank lasts from the first start to the last "
     "end of its nodes, those of the host included; a step of the run is as long as that of its "
     "slowest rank."},
    {"breakdown",
     "Each moment of a rank's device, from the start of its first node to the end of its last, counts "
     "once: as computation when anything computed, else as communication when anything communicated, "
     "else as copies when memory was moved, else as idle. Nodes of all streams are taken together. The "
     "row \"all\" adds up the ranks that have times."},
    {"losses",
     "The parts of the breakdown in which nothing computed, added over ranks: exposed communication by "
     "what it waited for, exposed copies, and idle time by its cause (see why the device was idle)."},
    {"work",
     "Counts of traces without times. The longest chain is the largest number of nodes that depend on "
     "one another."},
    {"kinds",
     "Nodes of the device of all ranks by the kind of work that their names, or those of the ops that "
     "launched them, tell; where nothing ran on a device, ops of the host with the time that is theirs "
     "alone. Durations are added: nodes at the same time count twice."},
    {"other",
     "Names of kernels and ops that no pattern knows, and whose launching ops say nothing either, with "
     "their share of the time of all kinds; --kinds FILE adds patterns."},
    {"lanes",
     "Streams of the device; where nodes name no stream, a lane for each activity, and further ones "
     "for nodes that overlap."},
    {"idle",
     "Each gap between two nodes of the device (no lane busy), and of each lane, has one cause, the "
     "first that applies. Host: the launch call of the next node started after the lane had become "
     "idle. Synchronisation: the same, and the launching thread was in a call that waited for the "
     "device. Kernel: launched in time, and the gap is below --consecutive-gap or lies within one "
     "graph launch. Dependency: the node waited for one on another lane. Other: the trace does not "
     "tell."},
    {"communication",
     "Calls of each rank by kind and group. A collective or message begins to move data when its last "
     "rank has arrived: the k-th collective of a group on one rank is the k-th on every other, and "
     "messages are matched by sender, receiver and tag. Bandwidths are counted as nccl-tests does, of "
     "the time of the transfer."},
    {"ops",
     "Nodes of the device of all ranks by name and activity. Durations are added: nodes at the same "
     "time count twice."},
    {"durations",
     "Nodes of the device of all ranks by how long they lasted. Bins begin at 1, 2 and 5 times a power "
     "of ten nanoseconds; bins without nodes are left out."},
    {"host-ops",
     "Ops of the host of all ranks by name, with the time that is theirs alone, without what was "
     "nested in them; beside it what was launched within them on the device, at any depth. An op "
     "nested in one of the same name counts once there."},
    {"layers",
     "Sums over the nodes of all ranks by layer. A node of the device that names no layer has that of "
     "the host's op that encloses its launch. Durations are added: nodes at the same time count twice."},
    {"phases",
     "Sums over the nodes of all ranks by phase. A node of the device that names no phase has that of "
     "the host's op that encloses its launch. Durations are added: nodes at the same time count twice."},
    {"steps",
     "Nodes of each rank by the step that they name. The other columns are sums of durations: nodes at "
     "the same time count twice, so that they may exceed the span."},
    {"launches",
     "Nodes of the device that name the host's call that launched them. A call's duration includes all "
     "that is nested in it; the delay is from the end of the call to the start on the device, 0 where "
     "that started before the call returned. Quantiles are sorted values at (n - 1) q, rounded down."},
    {"queues",
     "Work that was launched on a stream and has not started: the queue grows when a launch call "
     "starts and shrinks when its work starts."},
    {"stragglers",
     "Waits in matched collectives. A rank that came early waits for the one that came last: by the "
     "starts of the calls where the clocks of the ranks can be believed (in nine of ten meetings "
     "nobody left before the last had come), else by durations: own duration minus the shortest. "
     "Messages are not counted: a pipeline stage that runs after another is not late."},
    {"collectives", "The 100 matched collectives with the longest waits."},
    {"critical-path",
     "Followed backward from the node that ended last: from each node to the dependency that ended "
     "last, or to the node before it on its stream; in runs of Nadi on a CPU, from a message or "
     "collective to what its thread computed before. A collective or message that waited for a late "
     "rank is on the path with its transfer only; from there the path goes on with what the late rank "
     "did before. Each moment of the path belongs to the node that ran, or to waiting where no traced "
     "node ran."},
    {"critical-ops", "The critical path by op."},
    {"critical-phases", "The critical path by phase."},
    {"totals",
     "Figures of the breakdown, added over ranks and divided by the number of steps of all ranks, so "
     "that runs of different lengths and numbers of ranks can be laid side by side. A rank whose nodes "
     "name no step counts as one step."},
    {"changes",
     "Ops of both runs, matched by activity and name: sums over all ranks, divided by the number of "
     "steps of all ranks."},
    {"occurrences",
     "Single occurrences of ops that occur equally often per step in both runs, matched by layer and "
     "phase, and within these by their place in the step; the 1,000 largest differences."},
};

constexpr FigureDefinition kFigures[] = {
    {"headline", "step_ns",
     "Median over the steps of the run; of an even number the lower one in the middle. Where nodes "
     "name no step: the longest time of any rank, from its first start to its last end."},
    {"headline", "steps", "Different steps that nodes with times name; 0 where they name none."},
    {"headline", "shortest_step_ns", "The shortest step of the run."},
    {"headline", "longest_step_ns", "The longest step of the run."},
    {"headline", "samples_per_step", "The metadata of the first rank: global_batch_size."},
    {"headline", "tokens_per_step", "The metadata of the first rank: global_batch_size times seq_length."},
    {"headline", "steps_per_second", "One over the step time.", "1000000000 / step_ns"},
    {"headline", "samples_per_second", "Samples of a step over the step time.",
     "1000000000 * samples_per_step / step_ns"},
    {"headline", "tokens_per_second", "Tokens of a step over the step time.",
     "1000000000 * tokens_per_step / step_ns"},
    {"headline", "flops_per_second",
     "Work of all nodes that say theirs, over the time of the devices of all ranks: what one device "
     "does on average, waiting included.",
     "1000000000 * sum(kinds.flops) / device_time_ns"},
    {"headline", "device_time_ns",
     "Time of the device of each rank, from the first start to the last end of its nodes, added over "
     "ranks."},
    {"breakdown", "rank", "Number of the rank; all: all ranks that have times, added up."},
    {"breakdown", "span_ns", "From the first start to the last end of the device's nodes."},
    {"breakdown", "compute_ns", "While at least one node computed."},
    {"breakdown", "compute_share", "Share of the span.", "compute_ns / span_ns"},
    {"breakdown", "exposed_communication_ns",
     "While something communicated and nothing computed: transfer and both kinds of waiting.",
     "transfer_ns + late_rank_ns + late_message_ns"},
    {"breakdown", "exposed_communication_share", "Share of the span.", "exposed_communication_ns / span_ns"},
    {"breakdown", "transfer_ns",
     "Exposed communication while data moved: some call had met its last member. All of the exposed "
     "communication where no calls of other ranks were matched."},
    {"breakdown", "transfer_share", "Share of the span.", "transfer_ns / span_ns"},
    {"breakdown", "late_rank_ns",
     "Exposed communication while nothing moved and a collective waited for the last of its ranks to "
     "start it."},
    {"breakdown", "late_rank_share", "Share of the span.", "late_rank_ns / span_ns"},
    {"breakdown", "late_message_ns",
     "Exposed communication while only messages waited, for their other end: the bubble of a pipeline."},
    {"breakdown", "late_message_share", "Share of the span.", "late_message_ns / span_ns"},
    {"breakdown", "exposed_memory_ns", "While memory was moved, and nothing computed or communicated."},
    {"breakdown", "exposed_memory_share", "Share of the span.", "exposed_memory_ns / span_ns"},
    {"breakdown", "idle_ns", "The rest of the span: no node of the device ran.",
     "span_ns - compute_ns - exposed_communication_ns - exposed_memory_ns"},
    {"breakdown", "idle_share", "Share of the span.", "idle_ns / span_ns"},
    {"breakdown", "hidden_communication_share",
     "Share of the time in which something communicated that something computed in, too.",
     "(communication_ns - exposed_communication_ns) / communication_ns"},
    {"breakdown", "communication_ns",
     "While at least one node communicated, whether or not something computed."},
    {"breakdown", "memory_ns", "While memory was moved, whatever else happened."},
    {"breakdown", "compute_sum_ns",
     "Durations of the nodes that compute, added: two at the same time count twice."},
    {"breakdown", "communication_sum_ns", "Durations of the nodes that communicate, added."},
    {"breakdown", "memory_sum_ns", "Durations of the nodes that move memory, added."},
    {"breakdown", "host_sum_ns", "Durations of the host's nodes without what is nested in them, added."},
    {"losses", "cause",
     "Communication (of one rank: waiting cannot be told from transfer), transfer, waiting for a late "
     "rank, waiting for messages, copies, or idle for one of its causes."},
    {"losses", "time_ns", "Summed over all ranks."},
    {"losses", "time_share", "Share of the time of the devices of all ranks.",
     "time_ns / headline.device_time_ns"},
    {"work", "rank", "Number of the rank; all: all ranks without times."},
    {"work", "compute_nodes", "Nodes that compute."},
    {"work", "communication_nodes", "Nodes that communicate."},
    {"work", "memory_nodes", "Nodes that move memory."},
    {"work", "host_nodes", "Nodes of the host."},
    {"work", "longest_chain_nodes", "Nodes on the longest chain of dependencies."},
    {"work", "heaviest_chain_flops", "Work of the chain of dependencies with the most of it."},
    {"kinds", "kind",
     "Told by the name of the kernel or op; where the kernel's name says nothing, by that of the "
     "nearest enclosing op."},
    {"kinds", "nodes", "Nodes of all ranks."},
    {"kinds", "time_ns", "Durations, added."},
    {"kinds", "time_share", "Share of the time of all kinds.", "time_ns / sum(time_ns)"},
    {"kinds", "flops",
     "num_ops of the nodes, added; where no node has it, what follows from the shapes of the ops that "
     "launched them."},
    {"kinds", "flops_per_second", "Work over the durations of the nodes that say their work."},
    {"kinds", "bytes", "tensor_size of the nodes, added."},
    {"kinds", "bytes_per_second", "Bytes over the durations of the nodes that say their bytes."},
    {"kinds", "main_op", "The op with the longest time."},
    {"kinds", "work_nodes", "Nodes that say their work."},
    {"other", "op", "Name of the kernel or op."},
    {"other", "time_share", "Share of the time of all kinds.", "time_ns / sum(kinds.time_ns)"},
    {"other", "time_ns", "Durations, added."},
    {"lanes", "rank", "Number of the rank."},
    {"lanes", "lane", "The stream or lane."},
    {"lanes", "nodes", "On the lane."},
    {"lanes", "busy_ns", "While at least one node of the lane ran."},
    {"lanes", "busy_share", "Share of the rank's span.", "busy_ns / breakdown.span_ns"},
    {"lanes", "compute_ns", "Durations of the nodes that compute, added."},
    {"lanes", "communication_ns", "Durations of the nodes that communicate, added."},
    {"lanes", "memory_ns", "Durations of the nodes that move memory, added."},
    {"idle", "rank", "Number of the rank; all: all ranks, added up."},
    {"idle", "lane", "device: while no lane was busy; or one lane."},
    {"idle", "idle_ns",
     "Gaps between nodes, added; what lies before the first node and after the last is no gap.",
     "host_ns + synchronisation_ns + kernel_ns + dependency_ns + other_ns"},
    {"idle", "host_ns", "Gaps before nodes that were launched after the lane had become idle."},
    {"idle", "host_share", "Share of the idle time.", "host_ns / idle_ns"},
    {"idle", "host_gaps", "Number of these gaps."},
    {"idle", "synchronisation_ns",
     "The same, where the launching thread was waiting for the device when the lane became idle."},
    {"idle", "synchronisation_share", "Share of the idle time.", "synchronisation_ns / idle_ns"},
    {"idle", "synchronisation_gaps", "Number of these gaps."},
    {"idle", "kernel_ns", "Short gaps before nodes that were launched in time, and gaps within one graph."},
    {"idle", "kernel_share", "Share of the idle time.", "kernel_ns / idle_ns"},
    {"idle", "kernel_gaps", "Number of these gaps."},
    {"idle", "dependency_ns", "Gaps before nodes that waited for a node on another lane."},
    {"idle", "dependency_share", "Share of the idle time.", "dependency_ns / idle_ns"},
    {"idle", "dependency_gaps", "Number of these gaps."},
    {"idle", "other_ns", "Gaps for reasons that the trace does not tell."},
    {"idle", "other_share", "Share of the idle time.", "other_ns / idle_ns"},
    {"idle", "other_gaps", "Number of these gaps."},
    {"idle", "longest_ns", "The longest gap."},
    {"communication", "rank", "Number of the rank."},
    {"communication", "kind", "The collective, SEND or RECV; unknown where the trace does not tell."},
    {"communication", "group", "Name of the process group (pg_name)."},
    {"communication", "members", "Members of the group; 2 for messages."},
    {"communication", "calls", "Number of calls."},
    {"communication", "bytes", "comm_size of the calls, added: what this rank puts in."},
    {"communication", "time_ns", "Durations of the calls, added."},
    {"communication", "waited_ns",
     "Part of the time, until the last rank had come; 0 where no calls of other ranks were matched."},
    {"communication", "waited_share", "Share of the time.", "waited_ns / time_ns"},
    {"communication", "under_way_ns", "While at least one call lasted."},
    {"communication", "exposed_ns", "Part of the time under way while nothing computed."},
    {"communication", "hidden_share", "Share of the time under way while something computed.",
     "(under_way_ns - exposed_ns) / under_way_ns"},
    {"communication", "transfer_ns", "The time of the calls without waiting.", "time_ns - waited_ns"},
    {"communication", "algorithm_bytes_per_second",
     "Size of the whole tensor over the time of the transfer: an all-gather among n counts n times "
     "what a rank puts in."},
    {"communication", "bus_bytes_per_second",
     "Algorithm bandwidth times the bus factor: 2 (n - 1) / n for an all-reduce among n, (n - 1) / n "
     "for all-gather, reduce-scatter and all-to-all, 1 for the others."},
    {"communication", "calls_without_size", "Calls whose size the trace does not tell."},
    {"ops", "name", "Attribute op where the node has one, else its name."},
    {"ops", "activity", "Computation, communication or movement of memory."},
    {"ops", "nodes", "Nodes of all ranks."},
    {"ops", "time_ns", "Durations, added."},
    {"ops", "time_share", "Share of the time of all ops of the device.", "time_ns / sum(time_ns)"},
    {"ops", "mean_ns", "Mean duration of a node.", "time_ns / nodes"},
    {"ops", "least_ns", "The shortest duration."},
    {"ops", "most_ns", "The longest duration."},
    {"ops", "standard_deviation_ns",
     "Deviation of the durations, as a sample: divided by n - 1; 0 below two nodes."},
    {"ops", "flops",
     "num_ops of the nodes, added; where no node has it, what follows from the shapes of the ops that "
     "launched them."},
    {"ops", "bytes", "tensor_size of the nodes, added."},
    {"ops", "flops_per_second", "Work over the durations of the nodes that say their work."},
    {"ops", "bytes_per_second", "Bytes over the durations of the nodes that say their bytes."},
    {"durations", "activity", "Computation, communication or movement of memory."},
    {"durations", "from_ns", "The shortest duration that belongs to the bin."},
    {"durations", "below_ns", "The next bin begins here."},
    {"durations", "nodes", "Nodes with such a duration."},
    {"durations", "time_ns", "Their durations, added."},
    {"durations", "time_share", "Share of the durations of all nodes of the device.",
     "time_ns / sum(time_ns)"},
    {"host-ops", "name", "Attribute op where the node has one, else its name."},
    {"host-ops", "nodes", "Nodes of all ranks."},
    {"host-ops", "time_ns", "Durations without nested ops, added."},
    {"host-ops", "time_share", "Share of the time of all ops of the host.", "time_ns / sum(time_ns)"},
    {"host-ops", "mean_ns", "Mean duration of a node.", "time_ns / nodes"},
    {"host-ops", "least_ns", "The shortest duration."},
    {"host-ops", "most_ns", "The longest duration."},
    {"host-ops", "standard_deviation_ns",
     "Deviation of the durations, as a sample: divided by n - 1; 0 below two nodes."},
    {"host-ops", "launched_nodes", "Nodes of the device that were launched within the op, at any depth."},
    {"host-ops", "device_time_ns", "Durations of these nodes, added."},
    {"host-ops", "device_time_share", "Share of the time of all ops of the device.",
     "device_time_ns / sum(ops.time_ns)"},
    {"layers", "name", "The layer; - for nodes that name none."},
    {"layers", "nodes", "Nodes of all ranks."},
    {"layers", "compute_ns", "Durations of the nodes that compute, added."},
    {"layers", "communication_ns", "Durations of the nodes that communicate, added."},
    {"layers", "memory_ns", "Durations of the nodes that move memory, added."},
    {"layers", "device_share", "Share of the time of the device's nodes of all layers.",
     "(compute_ns + communication_ns + memory_ns) / (sum(compute_ns) + sum(communication_ns) + "
     "sum(memory_ns))"},
    {"layers", "host_ns", "Durations of the host's nodes without what is nested in them, added."},
    {"layers", "flops", "num_ops of the nodes, added."},
    {"layers", "flops_per_second", "Work over the durations of the nodes that say their work."},
    {"layers", "bytes", "tensor_size of the nodes, added."},
    {"layers", "bytes_per_second", "Bytes over the durations of the nodes that say their bytes."},
    {"phases", "name", "The phase; - for nodes that name none."},
    {"phases", "nodes", "Nodes of all ranks."},
    {"phases", "compute_ns", "Durations of the nodes that compute, added."},
    {"phases", "communication_ns", "Durations of the nodes that communicate, added."},
    {"phases", "memory_ns", "Durations of the nodes that move memory, added."},
    {"phases", "device_share", "Share of the time of the device's nodes of all phases.",
     "(compute_ns + communication_ns + memory_ns) / (sum(compute_ns) + sum(communication_ns) + "
     "sum(memory_ns))"},
    {"phases", "host_ns", "Durations of the host's nodes without what is nested in them, added."},
    {"phases", "flops", "num_ops of the nodes, added."},
    {"phases", "flops_per_second", "Work over the durations of the nodes that say their work."},
    {"phases", "bytes", "tensor_size of the nodes, added."},
    {"phases", "bytes_per_second", "Bytes over the durations of the nodes that say their bytes."},
    {"steps", "rank", "Number of the rank."},
    {"steps", "step", "Number of the step; - for nodes that name none."},
    {"steps", "nodes", "Nodes of the step."},
    {"steps", "span_ns", "From the first start to the last end of its nodes, those of the host included."},
    {"steps", "compute_ns", "Durations of the nodes that compute, added."},
    {"steps", "communication_ns", "Durations of the nodes that communicate, added."},
    {"steps", "memory_ns", "Durations of the nodes that move memory, added."},
    {"steps", "host_ns", "Durations of the host's nodes without what is nested in them, added."},
    {"steps", "flops", "num_ops of the nodes, added."},
    {"steps", "start_ns", "The first start."},
    {"launches", "rank", "Number of the rank."},
    {"launches", "activity", "Activity that was launched."},
    {"launches", "launches", "Number of launches."},
    {"launches", "call_median_ns", "Median duration of the calls."},
    {"launches", "call_p99_ns", "99 of 100 calls took no longer."},
    {"launches", "call_most_ns", "The longest call."},
    {"launches", "delay_median_ns", "Median delay."},
    {"launches", "delay_p99_ns", "99 of 100 delays were no longer."},
    {"launches", "delay_most_ns", "The longest delay."},
    {"launches", "device_median_ns", "Median duration on the device."},
    {"launches", "shorter_than_call", "Launches whose work was shorter on the device than the call."},
    {"launches", "long_calls", "Calls over 50 us."},
    {"launches", "long_delays", "Delays over 100 us."},
    {"launches", "call_total_ns", "All calls, added."},
    {"launches", "delay_total_ns", "All delays, added."},
    {"queues", "rank", "Number of the rank."},
    {"queues", "stream", "The stream."},
    {"queues", "launches", "Number of launches."},
    {"queues", "mean_length", "Mean over time, from the first launch to the last start."},
    {"queues", "longest", "The longest that the queue was."},
    {"queues", "full_ns", "While it was as long as --full-queue or longer."},
    {"queues", "full_share", "Share of the time from the first launch to the last start."},
    {"stragglers", "rank", "Number of the rank."},
    {"stragglers", "collectives", "Collectives of the rank that were matched."},
    {"stragglers", "last", "Collectives in which this rank came last."},
    {"stragglers", "caused_ns", "What the others waited in these, added."},
    {"stragglers", "suffered_ns", "What the rank itself waited, added."},
    {"stragglers", "compute_ns", "While something computed on the rank."},
    {"stragglers", "compute_change", "Computation against the median of all ranks.",
     "compute_ns / median(compute_ns) - 1"},
    {"collectives", "group", "Name of the process group (pg_name)."},
    {"collectives", "number", "Place in the order of the group's collectives, from 0."},
    {"collectives", "kind", "The collective."},
    {"collectives", "last_rank", "The rank that came last."},
    {"collectives", "first_rank", "The rank that came first."},
    {"collectives", "longest_wait_ns", "What the first waited."},
    {"collectives", "waited_ns", "What all ranks waited, added."},
    {"critical-path", "rank",
     "Number of the rank; all: the whole path, where it crosses ranks. The rows below it are its "
     "parts."},
    {"critical-path", "nodes", "Nodes on the path."},
    {"critical-path", "length_ns",
     "From the start of the path to its end; of a part what is spent on that rank.",
     "host_ns + compute_ns + communication_ns + memory_ns + waiting_ns"},
    {"critical-path", "host_ns", "On nodes of the host."},
    {"critical-path", "host_share", "Share of the length.", "host_ns / length_ns"},
    {"critical-path", "compute_ns", "On nodes that compute."},
    {"critical-path", "compute_share", "Share of the length.", "compute_ns / length_ns"},
    {"critical-path", "communication_ns", "On nodes that communicate."},
    {"critical-path", "communication_share", "Share of the length.", "communication_ns / length_ns"},
    {"critical-path", "memory_ns", "On nodes that move memory."},
    {"critical-path", "memory_share", "Share of the length.", "memory_ns / length_ns"},
    {"critical-path", "waiting_ns",
     "When no traced node ran: from the end of a launch call to the start on the device, and time that "
     "nothing accounts for."},
    {"critical-path", "waiting_share", "Share of the length.", "waiting_ns / length_ns"},
    {"critical-path", "path_share", "Share of the length of the whole path."},
    {"critical-path", "crossings", "How often the whole path goes from one rank to another."},
    {"critical-ops", "rank", "Number of the rank; all: the path crosses ranks."},
    {"critical-ops", "name",
     "The op; launch delay: from the end of a launch call to the start on the device; untraced: "
     "nothing accounts for the time."},
    {"critical-ops", "activity", "What the path was on; waiting: no traced node ran."},
    {"critical-ops", "stretches", "How often the path passes the op."},
    {"critical-ops", "time_ns", "Time of the path on the op."},
    {"critical-ops", "time_share", "Share of the length of the path.", "time_ns / rank_sum(time_ns)"},
    {"critical-phases", "rank", "Number of the rank; all: the path crosses ranks."},
    {"critical-phases", "phase", "The phase; - where nothing is said."},
    {"critical-phases", "time_ns", "Time of the path in the phase."},
    {"critical-phases", "time_share", "Share of the length of the path.", "time_ns / rank_sum(time_ns)"},
    {"totals", "name", "Which time."},
    {"totals", "before_ns", "In the earlier run, per step of a rank."},
    {"totals", "after_ns", "In the later run, per step of a rank."},
    {"totals", "difference_ns", "After less before.", "after_ns - before_ns"},
    {"totals", "change", "After over before, less 1; none where one of them is 0.",
     "after_ns / before_ns - 1"},
    {"changes", "name", "The op."},
    {"changes", "activity", "Host, computation, communication or movement of memory."},
    {"changes", "kind", "new: only in the later run; gone: only in the earlier one."},
    {"changes", "nodes_before", "Nodes per step of a rank in the earlier run."},
    {"changes", "nodes_after", "Nodes per step of a rank in the later run."},
    {"changes", "before_ns", "Durations per step of a rank in the earlier run."},
    {"changes", "after_ns", "Durations per step of a rank in the later run."},
    {"changes", "difference_ns", "After less before.", "after_ns - before_ns"},
    {"changes", "change", "After over before, less 1; none where one of them is 0.",
     "after_ns / before_ns - 1"},
    {"occurrences", "name", "The op."},
    {"occurrences", "layer", "Its layer."},
    {"occurrences", "phase", "Its phase."},
    {"occurrences", "occurrence", "Place within step, layer and phase, from 0."},
    {"occurrences", "activity", "Host, computation, communication or movement of memory."},
    {"occurrences", "before_ns", "Mean duration over steps and ranks in the earlier run."},
    {"occurrences", "after_ns", "Mean duration over steps and ranks in the later run."},
    {"occurrences", "difference_ns", "After less before.", "after_ns - before_ns"},
    {"occurrences", "change", "After over before, less 1; none where one of them is 0.",
     "after_ns / before_ns - 1"},
};

}  // namespace

const FigureDefinition* find_definition(std::string_view table, std::string_view key) {
  const auto* found = std::ranges::find_if(kFigures, [&](const FigureDefinition& definition) {
    return definition.table == table && definition.key == key;
  });
  return found == std::ranges::end(kFigures) ? nullptr : found;
}

std::string_view table_definition(std::string_view table) {
  const auto* found = std::ranges::find(kTables, table, &TableDefinition::table);
  return found == std::ranges::end(kTables) ? std::string_view() : found->text;
}

}  // namespace nadi::inline show
