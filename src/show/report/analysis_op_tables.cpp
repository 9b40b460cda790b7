// Tables of ops, and of what ops belong to; see analysis_tables.h.
#include "nadi/analysis/run_analysis.h"
#include "nadi/report/analysis_cells.h"

namespace nadi::inline show {
namespace {

using namespace analysis_cells;

}  // namespace

ReportTable op_table(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  ReportTable table{.name = "ops",
                    .title = "Ops of the device",
                    .columns = {{"name", "op", CellKind::kKernel},
                                {"activity", "activity", CellKind::kText, Shown::kIfRoom},
                                {"nodes", "nodes"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare},
                                {"mean_ns", "mean", CellKind::kTime, Shown::kIfRoom},
                                {"least_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"most_ns", "most", CellKind::kTime, Shown::kIfRoom},
                                {"standard_deviation_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"flops", "", CellKind::kFlops, clock ? Shown::kToPrograms : Shown::kAlways},
                                {"bytes", "", CellKind::kBytes, clock ? Shown::kToPrograms : Shown::kAlways},
                                {"flops_per_second", "FLOP/s", CellKind::kFlopRate},
                                {"bytes_per_second", "bytes/s", CellKind::kByteRate, Shown::kIfRoom}}};
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

ReportTable duration_table(const RunAnalysis& run) {
  ReportTable table{.name = "durations",
                    .title = "Durations of the device's nodes",
                    .note = "nodes that lasted at least `from` and less than `below`",
                    .columns = {{"activity", "activity", CellKind::kText},
                                {"from_ns", "from", CellKind::kTime},
                                {"below_ns", "below", CellKind::kTime},
                                {"nodes", "nodes"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare}}};
  const std::vector<DurationBin> bins = run.durations.bins();
  Nanoseconds all;
  for (const DurationBin& bin : bins) all += bin.time;
  for (const DurationBin& bin : bins)
    table.rows.push_back({text(to_string(bin.activity)), time(bin.from), time(bin.to), bin.nodes,
                          time(bin.time), share(bin.time, all)});
  return table;
}

ReportTable host_op_table(const RunAnalysis& run) {
  const bool clock = any_clock(run);
  ReportTable table{.name = "host-ops",
                    .title = "Ops of the host",
                    .note = "time: without nested ops; device: all work launched within the op, at any depth",
                    .columns = {{"name", "op", CellKind::kText},
                                {"nodes", "nodes"},
                                {"time_ns", "time", CellKind::kTime},
                                {"time_share", "", CellKind::kShare},
                                {"mean_ns", "mean", CellKind::kTime, Shown::kIfRoom},
                                {"least_ns", "", CellKind::kTime, Shown::kToPrograms},
                                {"most_ns", "most", CellKind::kTime, Shown::kIfRoom},
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

}  // namespace nadi::inline show
