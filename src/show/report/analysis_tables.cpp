#include "nadi/report/analysis_tables.h"

#include <algorithm>
#include <utility>

#include "nadi/analysis/headline.h"
#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/verdict.h"
#include "nadi/base/error.h"
#include "nadi/report/analysis_cells.h"

namespace nadi::inline show {
namespace {

using namespace analysis_cells;

std::int64_t timed_ranks(const RunAnalysis& run) {
  return std::ranges::count_if(run.ranks,
                               [](const RankAnalysis& rank) { return rank.clock != TimelineClock::kNone; });
}

// All ranks that have times, added up.
Breakdown sum_of(const RunAnalysis& run) {
  Breakdown sum;
  for (const RankAnalysis& rank : run.ranks) {
    if (rank.clock == TimelineClock::kNone) continue;
    const Breakdown& b = rank.breakdown;
    for (const auto part :
         {&Breakdown::span, &Breakdown::compute, &Breakdown::communication, &Breakdown::memory,
          &Breakdown::exposed_communication, &Breakdown::transfer, &Breakdown::late_rank,
          &Breakdown::late_message, &Breakdown::exposed_memory, &Breakdown::idle})
      sum.*part += b.*part;
    for (const auto part : {&Breakdown::compute_sum, &Breakdown::communication_sum, &Breakdown::memory_sum,
                            &Breakdown::host_sum}) {
      (sum.*part).nodes += (b.*part).nodes;
      (sum.*part).time += (b.*part).time;
    }
  }
  return sum;
}

ReportTable breakdown_table(const RunAnalysis& run) {
  // What others had to do with it is known where calls of ranks were matched.
  const bool joined = run.stragglers.matched + run.matched_messages > 0;
  const Shown whole = joined ? Shown::kToPrograms : Shown::kUnlessZero;
  const Shown whole_time = joined ? Shown::kToPrograms : Shown::kIfRoom;
  const Shown part = joined ? Shown::kUnlessZero : Shown::kToPrograms;
  const Shown part_time = joined ? Shown::kIfRoom : Shown::kToPrograms;
  ReportTable table{
      .name = "breakdown",
      .title = "Time of the device",
      .note = joined ? "each moment once: computation, else transfer, else waiting, else copies, else idle"
                     : "each moment once: computation, else communication, else copies, else idle",
      .columns = {rank_column(),
                  {"span_ns", "span", CellKind::kTime},
                  {"compute_share", "compute", CellKind::kShare},
                  {"compute_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"exposed_communication_share", "communication", CellKind::kShare, whole},
                  {"exposed_communication_ns", "", CellKind::kTime, whole_time},
                  {"transfer_share", "transfer", CellKind::kShare, part},
                  {"transfer_ns", "", CellKind::kTime, part_time},
                  {"late_rank_share", "late rank", CellKind::kShare, part},
                  {"late_rank_ns", "", CellKind::kTime, part_time},
                  {"late_message_share", "pipeline", CellKind::kShare, part},
                  {"late_message_ns", "", CellKind::kTime, part_time},
                  {"exposed_memory_share", "copies", CellKind::kShare, Shown::kUnlessZero},
                  {"exposed_memory_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"idle_share", "idle", CellKind::kShare},
                  {"idle_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"hidden_communication_share", "hidden comm.", CellKind::kShare},
                  {"communication_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"memory_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"compute_sum_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"communication_sum_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"memory_sum_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"host_sum_ns", "", CellKind::kTime, Shown::kToPrograms}}};
  const auto add = [&](ReportCell rank, const Breakdown& b) {
    table.rows.push_back({std::move(rank),
                          time(b.span),
                          share(b.compute, b.span),
                          time(b.compute),
                          share(b.exposed_communication, b.span),
                          time(b.exposed_communication),
                          share(b.transfer, b.span),
                          time(b.transfer),
                          share(b.late_rank, b.span),
                          time(b.late_rank),
                          share(b.late_message, b.span),
                          time(b.late_message),
                          share(b.exposed_memory, b.span),
                          time(b.exposed_memory),
                          share(b.idle, b.span),
                          time(b.idle),
                          share(b.hidden_communication(), b.communication),
                          time(b.communication),
                          time(b.memory),
                          time(b.compute_sum.time),
                          time(b.communication_sum.time),
                          time(b.memory_sum.time),
                          time(b.host_sum.time)});
  };
  if (timed_ranks(run) > 1) add({}, sum_of(run));
  for (const RankAnalysis& rank : run.ranks)
    if (rank.clock != TimelineClock::kNone) add(rank.rank, rank.breakdown);
  return table;
}

ReportTable loss_table(const RunAnalysis& run) {
  ReportTable table{
      .name = "losses",
      .title = "What the time of the device was lost to",
      .note = "time in which nothing computed, by cause; the share is of the time of all devices",
      .columns = {{"cause", "cause", CellKind::kText},
                  {"time_ns", "time", CellKind::kTime},
                  {"time_share", "", CellKind::kShare}}};
  const Headline headline = headline_of(run);
  for (const Loss& loss : headline.losses)
    table.rows.push_back(
        {text(to_string(loss.cause)), time(loss.time), share(loss.time, headline.device_time)});
  return table;
}

ReportTable work_table(const RunAnalysis& run) {
  ReportTable table{
      .name = "work",
      .title = "Work",
      .note = "longest chain: nodes that depend on one another; FLOPs: of the chain with the most work",
      .columns = {rank_column(),
                  {"compute_nodes", "compute nodes"},
                  {"communication_nodes", "communication nodes", CellKind::kCount, Shown::kUnlessZero},
                  {"memory_nodes", "memory nodes", CellKind::kCount, Shown::kUnlessZero},
                  {"host_nodes", "host nodes", CellKind::kCount, Shown::kUnlessZero},
                  {"longest_chain_nodes", "longest chain"},
                  {"heaviest_chain_flops", "FLOPs on it", CellKind::kFlops}}};
  const auto add = [&](ReportCell rank, const Breakdown& b, const LongestChain& chain) {
    table.rows.push_back({std::move(rank), b.compute_sum.nodes, b.communication_sum.nodes, b.memory_sum.nodes,
                          b.host_sum.nodes, chain.nodes, chain.work.count()});
  };
  Breakdown sum;
  LongestChain longest;
  std::size_t ranks = 0;
  for (const RankAnalysis& rank : run.ranks) {
    if (rank.clock != TimelineClock::kNone) continue;
    ++ranks;
    for (const auto part : {&Breakdown::compute_sum, &Breakdown::communication_sum, &Breakdown::memory_sum,
                            &Breakdown::host_sum})
      (sum.*part).nodes += (rank.breakdown.*part).nodes;
    longest.nodes = std::max(longest.nodes, rank.chain.nodes);
    longest.work = std::max(longest.work, rank.chain.work);
  }
  if (ranks > 1) add({}, sum, longest);
  for (const RankAnalysis& rank : run.ranks)
    if (rank.clock == TimelineClock::kNone) add(rank.rank, rank.breakdown, rank.chain);
  return table;
}

// Over all ranks: what the kernels are.
ReportTable kind_table(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  ReportTable table{
      .name = "kinds",
      .title = "Kinds of work",
      .note = clock ? "time of all nodes, added up; FLOP/s and bytes/s of the nodes that say theirs" : "",
      .columns = {{"kind", "kind", CellKind::kText},
                  {"nodes", "nodes"},
                  {"time_share", "share", CellKind::kShare},
                  {"time_ns", "time", CellKind::kTime},
                  {"flops", "work", CellKind::kFlops, clock ? Shown::kToPrograms : Shown::kAlways},
                  {"flops_per_second", "FLOP/s", CellKind::kFlopRate},
                  {"bytes", "bytes", CellKind::kBytes, clock ? Shown::kToPrograms : Shown::kAlways},
                  {"bytes_per_second", "bytes/s", CellKind::kByteRate},
                  {"main_op", "mostly", CellKind::kKernel, Shown::kIfRoom},
                  {"work_nodes", "", CellKind::kCount, Shown::kToPrograms}}};
  Nanoseconds all;
  for (const KindRow& row : run.kinds) all += row.time;
  for (const KindRow& row : run.kinds)
    table.rows.push_back({text(to_string(row.kind)), row.nodes, share(row.time, all),
                          measured(row.time, clock), amount(row.work), rate(row.work), amount(row.bytes),
                          rate(row.bytes), named(row.main_op()), row.work.nodes});
  return table;
}

// Over all ranks: the ops of which nothing tells the kind.
ReportTable unnamed_table(const RunAnalysis& run) {
  ReportTable table{.name = "other",
                    .title = "Work of unknown kind",
                    .note = "names that no pattern knows; the share is of the time of all kinds",
                    .columns = {{"op", "op", CellKind::kKernel},
                                {"time_share", "share", CellKind::kShare},
                                {"time_ns", "time", CellKind::kTime}}};
  const auto other = std::ranges::find(run.kinds, WorkKind::kOther, &KindRow::kind);
  if (other == run.kinds.end() || !any_clock(run)) return table;
  Nanoseconds all;
  for (const KindRow& row : run.kinds) all += row.time;
  std::vector<std::pair<std::string, Nanoseconds>> ops(other->ops.begin(), other->ops.end());
  std::ranges::stable_sort(ops, std::greater{}, &std::pair<std::string, Nanoseconds>::second);
  for (const auto& [op, lasted] : ops) table.rows.push_back({named(op), share(lasted, all), time(lasted)});
  return table;
}

// Whether what is unknown is worth a table beside the verdict.
bool much_is_unnamed(const RunAnalysis& run) {
  constexpr std::int64_t kPart = 20;  // one in so many
  Nanoseconds all, other;
  for (const KindRow& row : run.kinds) {
    all += row.time;
    if (row.kind == WorkKind::kOther) other += row.time;
  }
  return other.count() > 0 && other.count() >= all.count() / kPart;
}

ReportTable lane_table(const RunAnalysis& run) {
  ReportTable table{.name = "lanes",
                    .title = "Lanes of the device",
                    .note = "busy: while at least one of its nodes ran; the share is of the rank's span",
                    .columns = {{"rank", "rank"},
                                {"lane", "lane", CellKind::kText},
                                {"nodes", "nodes"},
                                {"busy_ns", "busy", CellKind::kTime},
                                {"busy_share", "", CellKind::kShare},
                                {"compute_ns", "compute", CellKind::kTime, Shown::kUnlessZero},
                                {"communication_ns", "communication", CellKind::kTime, Shown::kUnlessZero},
                                {"memory_ns", "memory", CellKind::kTime, Shown::kUnlessZero}}};
  for (const RankAnalysis& rank : run.ranks)
    for (const LaneBreakdown& lane : rank.breakdown.lanes)
      if (rank.clock != TimelineClock::kNone)
        table.rows.push_back({rank.rank, text(lane.lane), lane.nodes, time(lane.busy),
                              share(lane.busy, rank.breakdown.span), time(lane.compute),
                              time(lane.communication), time(lane.memory)});
  return table;
}

LaneIdle idle_sum_of(const RunAnalysis& run) {
  LaneIdle sum{.lane = "device"};
  for (const RankAnalysis& rank : run.ranks) {
    const LaneIdle& device = rank.idle.device;
    for (const auto cause : {&LaneIdle::host, &LaneIdle::synchronisation, &LaneIdle::kernel,
                             &LaneIdle::dependency, &LaneIdle::other}) {
      (sum.*cause).gaps += (device.*cause).gaps;
      (sum.*cause).time += (device.*cause).time;
    }
    sum.longest = std::max(sum.longest, device.longest);
  }
  return sum;
}

ReportTable idle_table(const RunAnalysis& run) {
  ReportTable table{
      .name = "idle",
      .title = "Why the device was idle between two nodes",
      .note =
          "host: the next launch came too late; sync: the same, because the host had waited "
          "for the device; kernel: launched in time, a short gap; dependency: waited for another lane",
      .columns = {rank_column(),
                  {"lane", "lane", CellKind::kText},
                  {"idle_ns", "idle", CellKind::kTime},
                  {"host_share", "host", CellKind::kShare, Shown::kUnlessZero},
                  {"host_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"synchronisation_share", "sync", CellKind::kShare, Shown::kUnlessZero},
                  {"synchronisation_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"kernel_share", "kernel", CellKind::kShare, Shown::kUnlessZero},
                  {"kernel_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"dependency_share", "dependency", CellKind::kShare, Shown::kUnlessZero},
                  {"dependency_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"other_share", "other", CellKind::kShare},
                  {"other_ns", "", CellKind::kTime, Shown::kIfRoom},
                  {"longest_ns", "longest", CellKind::kTime},
                  {"host_gaps", "", CellKind::kCount, Shown::kToPrograms},
                  {"synchronisation_gaps", "", CellKind::kCount, Shown::kToPrograms},
                  {"kernel_gaps", "", CellKind::kCount, Shown::kToPrograms},
                  {"dependency_gaps", "", CellKind::kCount, Shown::kToPrograms},
                  {"other_gaps", "", CellKind::kCount, Shown::kToPrograms}}};
  const auto add = [&](ReportCell rank, const LaneIdle& lane) {
    const Nanoseconds total = lane.total();
    if (total == Nanoseconds{}) return;
    table.rows.push_back(
        {std::move(rank), text(lane.lane), time(total), share(lane.host.time, total), time(lane.host.time),
         share(lane.synchronisation.time, total), time(lane.synchronisation.time),
         share(lane.kernel.time, total), time(lane.kernel.time), share(lane.dependency.time, total),
         time(lane.dependency.time), share(lane.other.time, total), time(lane.other.time), time(lane.longest),
         lane.host.gaps, lane.synchronisation.gaps, lane.kernel.gaps, lane.dependency.gaps, lane.other.gaps});
  };
  if (timed_ranks(run) > 1) add({}, idle_sum_of(run));
  for (const RankAnalysis& rank : run.ranks) {
    add(rank.rank, rank.idle.device);
    if (rank.idle.lanes.size() > 1)
      for (const LaneIdle& lane : rank.idle.lanes) add(rank.rank, lane);
  }
  return table;
}

ReportTable step_table(const RunAnalysis& run) {
  ReportTable table{.name = "steps",
                    .title = "Steps",
                    .columns = {{"rank", "rank"},
                                {"step", "step"},
                                {"nodes", "nodes"},
                                {"span_ns", "span", CellKind::kTime},
                                {"compute_ns", "compute", CellKind::kTime, Shown::kUnlessZero},
                                {"communication_ns", "communication", CellKind::kTime, Shown::kUnlessZero},
                                {"memory_ns", "memory", CellKind::kTime, Shown::kUnlessZero},
                                {"host_ns", "host", CellKind::kTime, Shown::kUnlessZero},
                                {"flops", "work", CellKind::kFlops},
                                {"start_ns", "", CellKind::kTime, Shown::kToPrograms}}};
  for (const RankAnalysis& rank : run.ranks) {
    const bool clock = rank.clock != TimelineClock::kNone;
    for (const GroupRow& row : rank.step_rows)
      table.rows.push_back({rank.rank,
                            row.name.empty() ? ReportCell() : ReportCell(std::int64_t{std::stoll(row.name)}),
                            row.nodes, measured(row.end - row.start, clock), measured(row.compute, clock),
                            measured(row.communication, clock), measured(row.memory, clock),
                            measured(row.host, clock), amount(row.work), measured(row.start, clock)});
  }
  return table;
}

ReportTable launch_table(const RunAnalysis& run) {
  ReportTable table{.name = "launches",
                    .title = "Launches",
                    .note =
                        "delay: from the call to the start on the device; shorter: work shorter than its "
                        "call; slow: call over 50 us; late: "
                        "delay over 100 us",
                    .columns = {{"rank", "rank"},
                                {"activity", "of", CellKind::kText},
                                {"launches", "launches"},
                                {"call_median_ns", "call", CellKind::kTime},
                                {"call_p99_ns", "99%", CellKind::kTime},
                                {"call_most_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"delay_median_ns", "delay", CellKind::kTime},
                                {"delay_p99_ns", "99%", CellKind::kTime},
                                {"delay_most_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"device_median_ns", "device", CellKind::kTime},
                                {"shorter_than_call", "shorter"},
                                {"long_calls", "slow"},
                                {"long_delays", "late"},
                                {"call_total_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"delay_total_ns", "", CellKind::kTime, Shown::kToPrograms}}};
  for (const RankAnalysis& rank : run.ranks)
    for (const LaunchRow& row : rank.launches.rows)
      table.rows.push_back({rank.rank, text(to_string(row.activity)), row.call.count, time(row.call.median),
                            time(row.call.p99), time(row.call.most), time(row.delay.median),
                            time(row.delay.p99), time(row.delay.most), time(row.device.median),
                            row.shorter_than_call, row.long_calls, row.long_delays, time(row.call.total),
                            time(row.delay.total)});
  return table;
}

ReportTable queue_table(const RunAnalysis& run) {
  ReportTable table{.name = "queues",
                    .title = "Queues of launched work",
                    .columns = {{"rank", "rank"},
                                {"stream", "stream", CellKind::kText},
                                {"launches", "launches"},
                                {"mean_length", "mean length", CellKind::kNumber},
                                {"longest", "longest"},
                                {"full_ns", "full", CellKind::kTime},
                                {"full_share", "", CellKind::kShare}}};
  for (const RankAnalysis& rank : run.ranks)
    for (const QueueRow& row : rank.queues)
      table.rows.push_back({rank.rank, text(row.stream), row.launches, row.mean, row.longest, time(row.full),
                            share(row.full, row.span)});
  return table;
}

}  // namespace

std::vector<ReportTable> analysis_tables(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  return {breakdown_table(run),
          loss_table(run),
          work_table(run),
          kind_table(run),
          unnamed_table(run),
          lane_table(run),
          idle_table(run),
          communication_table(run),
          op_table(run),
          duration_table(run),
          host_op_table(run),
          group_table("layers", "Layers", run.layers, clock),
          group_table("phases", "Phases", run.phases, clock),
          step_table(run),
          launch_table(run),
          queue_table(run),
          straggler_table(run),
          collective_table(run),
          critical_path_table(run),
          critical_op_table(run),
          critical_phase_table(run)};
}

namespace {

std::vector<std::string> tables_of(Limit limit) {
  switch (limit) {
    case Limit::kNothing:
    case Limit::kNotTimed:
      return {"work", "kinds", "ops", "communication"};
    case Limit::kHostOnly:
      return {"kinds", "host-ops", "critical-path"};
    case Limit::kCompute:
    case Limit::kCopies:
      return {"breakdown", "kinds", "ops", "critical-path"};
    case Limit::kTransfer:
    case Limit::kLateRank:
    case Limit::kLateMessage:
      return {"breakdown", "kinds", "communication", "stragglers", "critical-path"};
    case Limit::kHost:
    case Limit::kSynchronisation:
    case Limit::kKernelGaps:
    case Limit::kUnknown:
      return {"breakdown", "kinds", "idle", "host-ops", "critical-path"};
  }
  unreachable();
}

}  // namespace

std::vector<std::string> summary_table_names(const RunAnalysis& run) {
  const Limit limit = judge(run).limit;
  std::vector<std::string> names = tables_of(limit);
  // Ops of the host have no kinds to speak of: most of them are calls.
  const bool on_device = limit != Limit::kHostOnly;
  if (on_device && much_is_unnamed(run)) names.insert(std::ranges::find(names, "kinds") + 1, "other");
  return names;
}

std::vector<std::string> analysis_table_names() {
  return names_of(analysis_tables({}));
}

}  // namespace nadi::inline show
