#include "nadi/cli/analyze_tables.h"

#include <algorithm>
#include <optional>

#include "nadi/analysis/run_analysis.h"

namespace nadi {
namespace {

using Cells = std::vector<ReportCell>;

ReportCell text(std::string_view value) {
  return std::string(value);
}
ReportCell named(std::string_view value) {
  return value.empty() ? ReportCell() : ReportCell(std::string(value));
}
ReportCell time(Nanoseconds value) {
  return value.count();
}
// Of what was not measured nothing is shown, rather than a zero.
ReportCell measured(Nanoseconds value, bool clock) {
  return clock ? ReportCell(value.count()) : ReportCell();
}
ReportCell share(Nanoseconds part, Nanoseconds whole) {
  if (whole.count() <= 0) return {};
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}
ReportCell amount(const KnownAmount& known) {
  return known.nodes == 0 ? ReportCell() : ReportCell(known.amount);
}
ReportCell rate(const KnownAmount& known) {
  return known.nodes == 0 || known.amount == 0 || known.time.count() <= 0 ? ReportCell()
                                                                          : ReportCell(known.per_second());
}

bool any_clock(const RunAnalysis& run) {
  return std::ranges::any_of(run.ranks,
                             [](const RankAnalysis& rank) { return rank.clock != TimelineClock::kNone; });
}

ReportTable breakdown_table(const RunAnalysis& run) {
  ReportTable table{
      .name = "breakdown",
      .title = "Time of the device",
      .note = "each moment counts once: computation before communication before memory",
      .columns = {{"rank", "rank"},
                  {"span_ns", "span", CellKind::kTime},
                  {"compute_ns", "compute", CellKind::kTime, Shown::kUnlessZero},
                  {"compute_share", "", CellKind::kShare, Shown::kUnlessZero},
                  {"exposed_communication_ns", "communication", CellKind::kTime, Shown::kUnlessZero},
                  {"exposed_communication_share", "", CellKind::kShare, Shown::kUnlessZero},
                  {"exposed_memory_ns", "memory", CellKind::kTime, Shown::kUnlessZero},
                  {"exposed_memory_share", "", CellKind::kShare, Shown::kUnlessZero},
                  {"idle_ns", "idle", CellKind::kTime},
                  {"idle_share", "", CellKind::kShare},
                  {"hidden_communication_share", "hidden comm.", CellKind::kShare},
                  {"communication_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"memory_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"compute_sum_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"communication_sum_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"memory_sum_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"host_sum_ns", "", CellKind::kTime, Shown::kToPrograms}}};
  for (const RankAnalysis& rank : run.ranks) {
    if (rank.clock == TimelineClock::kNone) continue;
    const Breakdown& b = rank.breakdown;
    table.rows.push_back({rank.rank, time(b.span), time(b.compute), share(b.compute, b.span),
                          time(b.exposed_communication), share(b.exposed_communication, b.span),
                          time(b.exposed_memory), share(b.exposed_memory, b.span), time(b.idle),
                          share(b.idle, b.span), share(b.hidden_communication(), b.communication),
                          time(b.communication), time(b.memory), time(b.compute_sum.time),
                          time(b.communication_sum.time), time(b.memory_sum.time), time(b.host_sum.time)});
  }
  return table;
}

ReportTable work_table(const RunAnalysis& run) {
  ReportTable table{
      .name = "work",
      .title = "Work",
      .note = "the longest chain: nodes that wait for each other; FLOPs: of the heaviest",
      .columns = {{"rank", "rank"},
                  {"compute_nodes", "compute nodes"},
                  {"communication_nodes", "communication nodes", CellKind::kCount, Shown::kUnlessZero},
                  {"memory_nodes", "memory nodes", CellKind::kCount, Shown::kUnlessZero},
                  {"host_nodes", "host nodes", CellKind::kCount, Shown::kUnlessZero},
                  {"longest_chain_nodes", "longest chain"},
                  {"heaviest_chain_flops", "FLOPs on it", CellKind::kFlops}}};
  for (const RankAnalysis& rank : run.ranks)
    if (rank.clock == TimelineClock::kNone)
      table.rows.push_back({rank.rank, rank.breakdown.compute_sum.nodes,
                            rank.breakdown.communication_sum.nodes, rank.breakdown.memory_sum.nodes,
                            rank.breakdown.host_sum.nodes, rank.chain.nodes, rank.chain.work.count()});
  return table;
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

ReportTable idle_table(const RunAnalysis& run) {
  ReportTable table{.name = "idle",
                    .title = "Why lanes were idle between two nodes",
                    .note =
                        "host: launched too late; kernel: in time, a short gap; dependency: waited for "
                        "another lane",
                    .columns = {{"rank", "rank"},
                                {"lane", "lane", CellKind::kText},
                                {"idle_ns", "idle", CellKind::kTime},
                                {"host_ns", "host", CellKind::kTime, Shown::kUnlessZero},
                                {"host_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"kernel_ns", "kernel", CellKind::kTime, Shown::kUnlessZero},
                                {"kernel_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"dependency_ns", "dependency", CellKind::kTime, Shown::kUnlessZero},
                                {"dependency_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"other_ns", "other", CellKind::kTime},
                                {"other_share", "", CellKind::kShare},
                                {"longest_ns", "longest", CellKind::kTime},
                                {"host_gaps", "", CellKind::kCount, Shown::kToPrograms},
                                {"kernel_gaps", "", CellKind::kCount, Shown::kToPrograms},
                                {"dependency_gaps", "", CellKind::kCount, Shown::kToPrograms},
                                {"other_gaps", "", CellKind::kCount, Shown::kToPrograms}}};
  for (const RankAnalysis& rank : run.ranks)
    for (const LaneIdle& lane : rank.idle) {
      const Nanoseconds total = lane.total();
      if (total == Nanoseconds{}) continue;
      table.rows.push_back(
          {rank.rank, text(lane.lane), time(total), time(lane.host.time), share(lane.host.time, total),
           time(lane.kernel.time), share(lane.kernel.time, total), time(lane.dependency.time),
           share(lane.dependency.time, total), time(lane.other.time), share(lane.other.time, total),
           time(lane.longest), lane.host.gaps, lane.kernel.gaps, lane.dependency.gaps, lane.other.gaps});
    }
  return table;
}

ReportTable communication_table(const RunAnalysis& run) {
  ReportTable table{.name = "communication",
                    .title = "Communication",
                    .note = "hidden: while something computed; bandwidths as nccl-tests counts them",
                    .columns = {{"rank", "rank"},
                                {"kind", "kind", CellKind::kText},
                                {"group", "group", CellKind::kText},
                                {"members", "members"},
                                {"calls", "calls"},
                                {"bytes", "size", CellKind::kBytes},
                                {"time_ns", "time", CellKind::kTime},
                                {"hidden_share", "hidden", CellKind::kShare},
                                {"algorithm_bytes_per_second", "algorithm", CellKind::kByteRate},
                                {"bus_bytes_per_second", "bus", CellKind::kByteRate},
                                {"under_way_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"exposed_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"calls_without_size", "", CellKind::kCount, Shown::kToPrograms}}};
  for (const RankAnalysis& rank : run.ranks) {
    const bool clock = rank.clock != TimelineClock::kNone;
    for (const CommunicationRow& row : rank.communications) {
      const auto bandwidth = [&](std::optional<double> bytes) -> ReportCell {
        if (!bytes || *bytes <= 0 || row.time.count() <= 0) return {};
        return *bytes / static_cast<double>(row.time.count()) * 1e9;
      };
      table.rows.push_back(
          {rank.rank, text(row.kind), named(row.group), row.members ? ReportCell(*row.members) : ReportCell(),
           row.calls, row.calls_without_size == row.calls ? ReportCell() : ReportCell(row.bytes.count()),
           measured(row.time, clock), clock ? share(row.hidden(), row.under_way) : ReportCell(),
           bandwidth(row.algorithm_bytes()), bandwidth(row.bus_bytes()), measured(row.under_way, clock),
           measured(row.exposed, clock), row.calls_without_size});
    }
  }
  return table;
}

ReportTable op_table(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  ReportTable table{.name = "ops",
                    .title = "Ops of the device",
                    .columns = {{"name", "op", CellKind::kText},
                                {"activity", "activity", CellKind::kText},
                                {"nodes", "nodes"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare},
                                {"mean_ns", "mean", CellKind::kTime},
                                {"least_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"most_ns", "most", CellKind::kTime},
                                {"standard_deviation_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"flops", "", CellKind::kFlops, clock ? Shown::kToPrograms : Shown::kAlways},
                                {"bytes", "", CellKind::kBytes, clock ? Shown::kToPrograms : Shown::kAlways},
                                {"flops_per_second", "work", CellKind::kFlopRate},
                                {"bytes_per_second", "bytes", CellKind::kByteRate}}};
  if (!clock) table.columns[9].title = "work", table.columns[10].title = "bytes";
  Nanoseconds all;
  for (const OpRow& row : run.ops)
    if (is_device(row.activity)) all += row.time.total();
  for (const OpRow& row : run.ops) {
    if (!is_device(row.activity)) continue;
    table.rows.push_back({text(row.name), text(to_string(row.activity)), row.time.count(),
                          measured(row.time.total(), clock), share(row.time.total(), all),
                          clock ? ReportCell(row.time.mean_ns()) : ReportCell(),
                          measured(row.time.least(), clock), measured(row.time.most(), clock),
                          clock ? ReportCell(row.time.standard_deviation_ns()) : ReportCell(),
                          amount(row.work), amount(row.bytes), rate(row.work), rate(row.bytes)});
  }
  return table;
}

ReportTable host_op_table(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  ReportTable table{.name = "host-ops",
                    .title = "Ops of the host",
                    .note = "time: theirs alone; device: of all that was launched within them, at any depth",
                    .columns = {{"name", "op", CellKind::kText},
                                {"nodes", "nodes"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare},
                                {"mean_ns", "mean", CellKind::kTime},
                                {"least_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"most_ns", "most", CellKind::kTime},
                                {"standard_deviation_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"launched_nodes", "launched", CellKind::kCount, Shown::kUnlessZero},
                                {"device_time_ns", "device", CellKind::kTime, Shown::kUnlessZero},
                                {"device_time_share", "", CellKind::kShare, Shown::kUnlessZero}}};
  Nanoseconds host, device;
  for (const OpRow& row : run.ops) (is_device(row.activity) ? device : host) += row.time.total();
  for (const OpRow& row : run.ops) {
    if (is_device(row.activity)) continue;
    table.rows.push_back({text(row.name), row.time.count(), measured(row.time.total(), clock),
                          share(row.time.total(), host),
                          clock ? ReportCell(row.time.mean_ns()) : ReportCell(),
                          measured(row.time.least(), clock), measured(row.time.most(), clock),
                          clock ? ReportCell(row.time.standard_deviation_ns()) : ReportCell(), row.launched,
                          measured(row.device_time, clock), share(row.device_time, device)});
  }
  return table;
}

ReportTable group_table(std::string name, std::string title, const std::vector<GroupRow>& groups,
                        bool clock) {
  ReportTable table{
      .name = std::move(name),
      .title = std::move(title),
      .columns = {{"name", "name", CellKind::kText},
                  {"nodes", "nodes"},
                  {"compute_ns", "compute", CellKind::kTime, Shown::kUnlessZero},
                  {"communication_ns", "communication", CellKind::kTime, Shown::kUnlessZero},
                  {"memory_ns", "memory", CellKind::kTime, Shown::kUnlessZero},
                  {"device_share", "of device", CellKind::kShare},
                  {"host_ns", "host", CellKind::kTime, Shown::kUnlessZero},
                  {"flops", "work", CellKind::kFlops, clock ? Shown::kToPrograms : Shown::kAlways},
                  {"flops_per_second", "work", CellKind::kFlopRate},
                  {"bytes", "bytes", CellKind::kBytes, clock ? Shown::kToPrograms : Shown::kAlways},
                  {"bytes_per_second", "bytes", CellKind::kByteRate}}};
  Nanoseconds all;
  for (const GroupRow& row : groups) all += row.device();
  for (const GroupRow& row : groups)
    table.rows.push_back({named(row.name), row.nodes, measured(row.compute, clock),
                          measured(row.communication, clock), measured(row.memory, clock),
                          share(row.device(), all), measured(row.host, clock), amount(row.work),
                          rate(row.work), amount(row.bytes), rate(row.bytes)});
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
                        "delay: from call to device; shorter: than its call; slow: call over 50 us; late: "
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

Nanoseconds median_compute(const RunAnalysis& run) {
  std::vector<Nanoseconds> times;
  for (const RankAnalysis& rank : run.ranks) times.push_back(rank.breakdown.compute);
  std::ranges::sort(times);
  return times.empty() ? Nanoseconds{} : times[(times.size() - 1) / 2];
}

ReportTable straggler_table(const RunAnalysis& run) {
  ReportTable table{.name = "stragglers",
                    .title = "Who let the others wait",
                    .note = run.stragglers.measure == WaitMeasure::kArrival
                                ? "by the starts of matched collectives"
                                : "by the durations of matched collectives: the ranks' clocks look unrelated",
                    .columns = {{"rank", "rank"},
                                {"collectives", "collectives"},
                                {"last", "came last"},
                                {"caused_ns", "others waited", CellKind::kTime},
                                {"suffered_ns", "waited", CellKind::kTime},
                                {"compute_ns", "compute", CellKind::kTime, Shown::kUnlessZero},
                                {"compute_change", "to median", CellKind::kChange}}};
  if (run.stragglers.matched == 0) return table;
  const auto median = static_cast<double>(median_compute(run).count());
  for (const StragglerRank& row : run.stragglers.ranks) {
    const auto rank =
        std::ranges::find(run.ranks, row.rank, [](const RankAnalysis& analysis) { return analysis.rank; });
    const Nanoseconds compute = rank->breakdown.compute;
    table.rows.push_back(
        {row.rank, row.collectives, row.last, time(row.caused), time(row.suffered), time(compute),
         median > 0 ? ReportCell(static_cast<double>(compute.count()) / median - 1) : ReportCell()});
  }
  return table;
}

ReportTable collective_table(const RunAnalysis& run) {
  ReportTable table{.name = "collectives",
                    .title = "Collectives in which was waited most",
                    .columns = {{"group", "group", CellKind::kText},
                                {"number", "number"},
                                {"kind", "kind", CellKind::kText},
                                {"last_rank", "last rank"},
                                {"first_rank", "first rank"},
                                {"longest_wait_ns", "it waited", CellKind::kTime},
                                {"waited_ns", "all waited", CellKind::kTime}}};
  for (const StragglerCollective& row : run.stragglers.collectives)
    table.rows.push_back({named(row.group), row.number, text(row.kind), row.last_rank, row.first_rank,
                          time(row.longest_wait), time(row.waited)});
  return table;
}

ReportTable critical_path_table(const RunAnalysis& run) {
  ReportTable table{.name = "critical-path",
                    .title = "Critical path",
                    .note = "the chain of nodes that decided when the trace ended; waiting: nobody known ran",
                    .columns = {{"rank", "rank"},
                                {"nodes", "nodes"},
                                {"length_ns", "length", CellKind::kTime},
                                {"host_ns", "host", CellKind::kTime, Shown::kUnlessZero},
                                {"host_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"compute_ns", "compute", CellKind::kTime, Shown::kUnlessZero},
                                {"compute_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"communication_ns", "comm.", CellKind::kTime, Shown::kUnlessZero},
                                {"communication_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"memory_ns", "memory", CellKind::kTime, Shown::kUnlessZero},
                                {"memory_share", "", CellKind::kShare, Shown::kUnlessZero},
                                {"waiting_ns", "waiting", CellKind::kTime, Shown::kUnlessZero},
                                {"waiting_share", "", CellKind::kShare, Shown::kUnlessZero}}};
  for (const RankAnalysis& rank : run.ranks) {
    const CriticalPath& path = rank.critical_path;
    if (path.nodes == 0) continue;
    const Nanoseconds length = path.end - path.start;
    table.rows.push_back({rank.rank, path.nodes, time(length), time(path.host), share(path.host, length),
                          time(path.compute), share(path.compute, length), time(path.communication),
                          share(path.communication, length), time(path.memory), share(path.memory, length),
                          time(path.waiting), share(path.waiting, length)});
  }
  return table;
}

ReportTable critical_op_table(const RunAnalysis& run) {
  ReportTable table{.name = "critical-ops",
                    .title = "Ops on the critical path",
                    .columns = {{"rank", "rank"},
                                {"name", "op", CellKind::kText},
                                {"activity", "activity", CellKind::kText},
                                {"stretches", "stretches"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare}}};
  // That of the longest path first: the others are much alike.
  std::vector<const RankAnalysis*> ranks;
  for (const RankAnalysis& rank : run.ranks) ranks.push_back(&rank);
  const auto length = [](const RankAnalysis* rank) {
    return rank->critical_path.end - rank->critical_path.start;
  };
  std::ranges::stable_sort(ranks, std::greater<>{}, length);
  for (const RankAnalysis* rank : ranks)
    for (const CriticalRow& row : rank->critical_path.rows)
      table.rows.push_back({rank->rank, text(row.name),
                            text(row.activity == Activity::kNone ? "waiting" : to_string(row.activity)),
                            row.nodes, time(row.time), share(row.time, length(rank))});
  return table;
}

ReportTable critical_phase_table(const RunAnalysis& run) {
  ReportTable table{.name = "critical-phases",
                    .title = "Phases on the critical path",
                    .columns = {{"rank", "rank"},
                                {"phase", "phase", CellKind::kText},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare}}};
  for (const RankAnalysis& rank : run.ranks) {
    const CriticalPath& path = rank.critical_path;
    if (path.phases.size() == 1 && path.phases[0].phase.empty()) continue;
    for (const CriticalPhase& row : path.phases)
      table.rows.push_back(
          {rank.rank, named(row.phase), time(row.time), share(row.time, path.end - path.start)});
  }
  return table;
}

}  // namespace

std::vector<ReportTable> analysis_tables(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  return {breakdown_table(run),
          work_table(run),
          lane_table(run),
          idle_table(run),
          communication_table(run),
          op_table(run),
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

std::vector<std::string> analysis_table_names() {
  return names_of(analysis_tables({}));
}

}  // namespace nadi
