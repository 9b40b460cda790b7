#include "nadi/report/simulation_tables.h"

#include <algorithm>
#include <map>

#include "nadi/base/format.h"
#include "nadi/parallel/rank_list.h"

namespace nadi::inline show {
namespace {

ReportCell phase_time(const SimulatedClass& ranks, Phase phase) {
  return ranks.breakdown.compute[static_cast<std::size_t>(phase)].count();
}

const std::string& device_name(const SimulationView& view, const SimulatedClass& ranks) {
  return view.cluster.device(ranks.device).name;
}

// Rows of classes, whose first cell is still to be filled with the ranks. Equal rows become one.
class RowsOfRanks {
 public:
  explicit RowsOfRanks(RankRows rows) : rows_(rows) {}

  void add(const SimulatedClass& ranks, std::vector<ReportCell> cells) {
    if (rows_ == RankRows::kByFigures) {
      const auto [known, is_new] = places_.emplace(cells, entries_.size());
      if (!is_new) {
        std::vector<Rank>& all = entries_[known->second].ranks;
        all.insert(all.end(), ranks.ranks.begin(), ranks.ranks.end());
        return;
      }
    }
    entries_.push_back({ranks.ranks, std::move(cells)});
  }

  void fill(ReportTable& table) {
    for (Entry& entry : entries_) {
      std::ranges::sort(entry.ranks);
      entry.cells[0] = rows_ == RankRows::kByClass ? as_ranges(entry.ranks) : as_short_ranges(entry.ranks);
      table.rows.push_back(std::move(entry.cells));
    }
  }

 private:
  struct Entry {
    std::vector<Rank> ranks;
    std::vector<ReportCell> cells;
  };
  RankRows rows_;
  std::vector<Entry> entries_;
  std::map<std::vector<ReportCell>, std::size_t> places_;
};

}  // namespace

ReportTable simulated_ranks_table(const SimulationView& view, RankRows rows) {
  ReportTable table{
      .name = "ranks",
      .title = "Where the time of each rank goes",
      .columns = {{"ranks", "ranks", CellKind::kText},
                  {"source", view.step ? "stage" : "trace", CellKind::kCount,
                   view.step || rows == RankRows::kByClass ? Shown::kAlways : Shown::kToPrograms},
                  {"device", "device", CellKind::kText},
                  {"forward_ns", view.step ? "forward" : "compute", CellKind::kTime},
                  {"recompute_ns", "recompute", CellKind::kTime, Shown::kUnlessZero},
                  {"backward_ns", "backward", CellKind::kTime, Shown::kUnlessZero},
                  {"optimizer_ns", "optimizer", CellKind::kTime, Shown::kUnlessZero},
                  {"host_ns", "host", CellKind::kTime, Shown::kUnlessZero},
                  {"exposed_communication_ns", "exposed comm", CellKind::kTime, Shown::kUnlessZero},
                  {"bubble_ns", "bubble", CellKind::kTime, Shown::kUnlessZero},
                  {"end_ns", "", CellKind::kTime, Shown::kToPrograms}}};
  RowsOfRanks made(rows);
  const bool sources = view.step || rows == RankRows::kByClass;
  for (const SimulatedClass& ranks : view.result.classes)
    made.add(ranks, {ReportCell(), sources ? std::int64_t{ranks.source} : std::int64_t{0},
                     device_name(view, ranks), phase_time(ranks, Phase::kForward),
                     phase_time(ranks, Phase::kRecompute), phase_time(ranks, Phase::kBackward),
                     phase_time(ranks, Phase::kOptimizer), ranks.breakdown.host.count(),
                     ranks.breakdown.exposed().count(), ranks.breakdown.bubble.count(), ranks.end.count()});
  made.fill(table);
  return table;
}

ReportTable simulated_communication_table(const SimulationView& view) {
  ReportTable table{.name = "communication",
                    .title = "Communication",
                    .note = "of the ranks that wait longest for it",
                    .columns = {{"group", "group", CellKind::kText},
                                {"op", "kind", CellKind::kText},
                                {"ranks", "ranks", CellKind::kText},
                                {"count", "count", CellKind::kCount},
                                {"bytes", "size", CellKind::kBytes},
                                {"busy_ns", "busy", CellKind::kTime},
                                {"exposed_ns", "exposed", CellKind::kTime}}};
  struct Worst {
    const SimulatedClass* ranks = nullptr;
    const CommunicationShare* share = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Worst> worst;
  for (const SimulatedClass& ranks : view.result.classes)
    for (const CommunicationShare& share : ranks.breakdown.communication) {
      Worst& entry = worst[{share.group, share.op}];
      if (entry.share == nullptr ||
          std::pair(share.exposed, share.busy) > std::pair(entry.share->exposed, entry.share->busy))
        entry = {&ranks, &share};
    }
  for (const auto& [key, entry] : worst)
    table.rows.push_back({key.first.empty() ? "-" : key.first, key.second, as_ranges(entry.ranks->ranks),
                          entry.share->count, entry.share->bytes.count(), entry.share->busy.count(),
                          entry.share->exposed.count()});
  return table;
}

ReportTable simulated_memory_table(const SimulationView& view, RankRows rows) {
  ReportTable table{.name = "memory",
                    .title = "Memory",
                    .columns = {{"ranks", "ranks", CellKind::kText},
                                {"device", "device", CellKind::kText},
                                {"resident_bytes", "resident", CellKind::kBytes},
                                {"peak_bytes", "peak", CellKind::kBytes},
                                {"reserved_bytes", "reserved", CellKind::kBytes, Shown::kIfRoom},
                                {"capacity_bytes", "of", CellKind::kBytes},
                                {"peak_at_ns", "peak at", CellKind::kTime},
                                {"exceeded_at_ns", "exceeded at", CellKind::kTime}}};
  RowsOfRanks made(rows);
  for (const SimulatedClass& ranks : view.result.classes) {
    const SimulatedMemory& memory = ranks.memory;
    made.add(ranks, {ReportCell(), device_name(view, ranks), memory.resident.count(), memory.peak.count(),
                     memory.reserved.count(),
                     memory.capacity.count() == 0 ? ReportCell() : ReportCell(memory.capacity.count()),
                     memory.peak_at.count(),
                     memory.exceeded_at ? ReportCell(memory.exceeded_at->count()) : ReportCell()});
  }
  made.fill(table);
  return table;
}

ReportTable simulated_traffic_table(const SimulationView& view) {
  ReportTable table{.name = "traffic",
                    .title = "Traffic",
                    .columns = {{"level", "level", CellKind::kText},
                                {"fabric", "fabric", CellKind::kText},
                                {"total_bytes", "total", CellKind::kBytes}}};
  for (const LevelTraffic& level : view.result.traffic)
    table.rows.push_back({level.name, level.fabric, level.total.count()});
  return table;
}

ReportTable simulated_links_table(const SimulationView& view) {
  ReportTable table{.name = "links",
                    .title = "Links",
                    .columns = {{"name", "link", CellKind::kText},
                                {"level", "level", CellKind::kText},
                                {"bytes", "bytes", CellKind::kBytes},
                                {"bytes_per_second", "rate", CellKind::kByteRate}}};
  for (const LinkTraffic& link : view.result.links)
    table.rows.push_back({link.name, view.result.traffic[static_cast<std::size_t>(link.level)].name,
                          link.bytes.count(), link.bandwidth.per_second()});
  return table;
}

ReportTable what_if_table(const SimulationView& view) {
  ReportTable table{.name = "what-if",
                    .title = "What if",
                    .columns = {{"change", "change", CellKind::kText},
                                {"iteration_time_ns", "iteration", CellKind::kTime},
                                {"change_of_time", "change", CellKind::kChange},
                                {"dollars_per_step", "$ per step", CellKind::kFigure}}};
  const double base = static_cast<double>(view.result.iteration_time.count());
  for (const WhatIfAnswer& result : view.what_if)
    table.rows.push_back(
        {result.change, result.iteration_time.count(),
         base > 0 ? ReportCell(static_cast<double>(result.iteration_time.count()) / base - 1) : ReportCell(),
         result.dollars_per_step ? ReportCell(format("{:.6f}", *result.dollars_per_step)) : ReportCell()});
  return table;
}

}  // namespace nadi::inline show
