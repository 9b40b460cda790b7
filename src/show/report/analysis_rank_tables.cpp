// Tables about what ranks have to do with one another; see analysis_tables.h.
#include <algorithm>
#include <optional>

#include "nadi/analysis/run_analysis.h"
#include "nadi/report/analysis_cells.h"

namespace nadi::inline show {
namespace {

using namespace analysis_cells;

Nanoseconds median_compute(const RunAnalysis& run) {
  std::vector<Nanoseconds> times;
  for (const RankAnalysis& rank : run.ranks) times.push_back(rank.breakdown.compute);
  std::ranges::sort(times);
  return times.empty() ? Nanoseconds{} : times[(times.size() - 1) / 2];
}

// Nothing where the path is that of all ranks.
ReportCell rank_of(const RunAnalysis& run, const CriticalPath& path) {
  return run.path_crosses_ranks || path.ranks.empty() ? ReportCell() : ReportCell(path.ranks[0].rank);
}

}  // namespace

ReportTable communication_table(const RunAnalysis& run) {
  const bool joined = run.stragglers.matched + run.matched_messages > 0;
  ReportTable table{
      .name = "communication",
      .title = "Communication",
      .note =
          "hidden: while something computed; waited: for a rank that came late; bandwidths as "
          "nccl-tests counts them, of the transfer",
      .columns = {{"rank", "rank"},
                  {"kind", "kind", CellKind::kText},
                  {"group", "group", CellKind::kText},
                  {"members", "members", CellKind::kCount, Shown::kIfRoom},
                  {"calls", "calls"},
                  {"bytes", "size", CellKind::kBytes},
                  {"time_ns", "time", CellKind::kTime},
                  {"waited_share", "waited", CellKind::kShare, joined ? Shown::kAlways : Shown::kToPrograms},
                  {"hidden_share", "hidden", CellKind::kShare},
                  {"algorithm_bytes_per_second", "algorithm", CellKind::kByteRate, Shown::kIfRoom},
                  {"bus_bytes_per_second", "bus", CellKind::kByteRate},
                  {"under_way_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"exposed_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"waited_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"transfer_ns", "", CellKind::kTime, Shown::kToPrograms},
                  {"calls_without_size", "", CellKind::kCount, Shown::kToPrograms}}};
  for (const RankAnalysis& rank : run.ranks) {
    const bool clock = rank.clock != TimelineClock::kNone;
    for (const CommunicationRow& row : rank.communications) {
      const auto bandwidth = [&](std::optional<double> bytes) -> ReportCell {
        if (!bytes || *bytes <= 0 || row.transfer().count() <= 0) return {};
        return *bytes / static_cast<double>(row.transfer().count()) * 1e9;
      };
      table.rows.push_back(
          {rank.rank, text(row.kind), named(row.group), row.members ? ReportCell(*row.members) : ReportCell(),
           row.calls, row.calls_without_size == row.calls ? ReportCell() : ReportCell(row.bytes.count()),
           measured(row.time, clock), clock ? share(row.waited, row.time) : ReportCell(),
           clock ? share(row.hidden(), row.under_way) : ReportCell(), bandwidth(row.algorithm_bytes()),
           bandwidth(row.bus_bytes()), measured(row.under_way, clock), measured(row.exposed, clock),
           measured(row.waited, clock), measured(row.transfer(), clock), row.calls_without_size});
    }
  }
  return table;
}

ReportTable straggler_table(const RunAnalysis& run) {
  ReportTable table{.name = "stragglers",
                    .title = "Stragglers: ranks that the others waited for",
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
                    .title = "Collectives with the longest waits",
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
  const bool several = run.ranks.size() > 1;
  std::string note = "the chain of dependent nodes that determines the end time; waiting: no traced node ran";
  if (run.path_crosses_ranks)
    note += "; across ranks, by their clocks as recorded";
  else if (several)
    note += "; of each rank alone: the clocks of ranks cannot be related";
  ReportTable table{.name = "critical-path",
                    .title = "Critical path",
                    .note = std::move(note),
                    .columns = {rank_column(),
                                {"nodes", "nodes"},
                                {"length_ns", "length", CellKind::kTime},
                                {"host_share", "host", CellKind::kShare, Shown::kUnlessZero},
                                {"host_ns", "", CellKind::kTime, Shown::kIfRoom},
                                {"compute_share", "compute", CellKind::kShare, Shown::kUnlessZero},
                                {"compute_ns", "", CellKind::kTime, Shown::kIfRoom},
                                {"communication_share", "comm.", CellKind::kShare, Shown::kUnlessZero},
                                {"communication_ns", "", CellKind::kTime, Shown::kIfRoom},
                                {"memory_share", "copies", CellKind::kShare, Shown::kUnlessZero},
                                {"memory_ns", "", CellKind::kTime, Shown::kIfRoom},
                                {"waiting_share", "waiting", CellKind::kShare, Shown::kUnlessZero},
                                {"waiting_ns", "", CellKind::kTime, Shown::kIfRoom},
                                {"path_share", "of path", CellKind::kShare,
                                 run.path_crosses_ranks ? Shown::kAlways : Shown::kToPrograms},
                                {"crossings", "", CellKind::kCount, Shown::kToPrograms}}};
  const auto add = [&](ReportCell rank, const CriticalSums& sums, const CriticalPath& path) {
    const Nanoseconds length = sums.length();
    table.rows.push_back({std::move(rank), sums.nodes, time(length), share(sums.host, length),
                          time(sums.host), share(sums.compute, length), time(sums.compute),
                          share(sums.communication, length), time(sums.communication),
                          share(sums.memory, length), time(sums.memory), share(sums.waiting, length),
                          time(sums.waiting), share(length, path.length()), path.crossings});
  };
  for (const CriticalPath& path : run.paths) {
    if (path.nodes == 0) continue;
    if (run.path_crosses_ranks) add({}, path, path);
    for (const CriticalRank& rank : path.ranks) add(rank.rank, rank, path);
  }
  return table;
}

ReportTable critical_op_table(const RunAnalysis& run) {
  ReportTable table{.name = "critical-ops",
                    .title = "Ops on the critical path",
                    .columns = {rank_column(),
                                {"name", "op", CellKind::kKernel},
                                {"activity", "activity", CellKind::kText},
                                {"stretches", "stretches"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare}}};
  // The longest path first: the others are much alike.
  std::vector<const CriticalPath*> paths;
  for (const CriticalPath& path : run.paths) paths.push_back(&path);
  std::ranges::stable_sort(paths, std::greater<>{}, [](const CriticalPath* path) { return path->length(); });
  for (const CriticalPath* path : paths)
    for (const CriticalRow& row : path->rows)
      table.rows.push_back({rank_of(run, *path), text(row.name),
                            text(row.activity == Activity::kNone ? "waiting" : to_string(row.activity)),
                            row.nodes, time(row.time), share(row.time, path->length())});
  return table;
}

ReportTable critical_phase_table(const RunAnalysis& run) {
  ReportTable table{.name = "critical-phases",
                    .title = "Phases on the critical path",
                    .columns = {rank_column(),
                                {"phase", "phase", CellKind::kText},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare}}};
  for (const CriticalPath& path : run.paths) {
    if (path.phases.size() == 1 && path.phases[0].phase.empty()) continue;
    for (const CriticalPhase& row : path.phases)
      table.rows.push_back(
          {rank_of(run, path), named(row.phase), time(row.time), share(row.time, path.length())});
  }
  return table;
}

}  // namespace nadi::inline show
