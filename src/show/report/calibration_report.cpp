#include "nadi/report/calibration_report.h"

#include <algorithm>
#include <ostream>
#include <string>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {
namespace {

// Bytes per second of the largest all-reduce among all devices of the node.
ReportCell all_reduce_rate(const NodeSpec& node) {
  ReportCell rate;
  for (const MeasuredCollective& row : node.inside.measured.collectives)
    if (row.type == CollectiveType::kAllReduce && row.ranks == node.devices)
      rate = static_cast<double>(row.size.count()) / to_seconds(row.time);
  return rate;
}

ReportTable calibration_table(const Cluster& machine) {
  ReportTable table{.name = "ranks",
                    .title = "By ranks on the machine",
                    .note =
                        "alone: how many times as fast a rank computes while the others wait; taken: share "
                        "of the computation that communication beside it takes away",
                    .columns = {{"ranks", "ranks"},
                                {"device", "device", CellKind::kText, Shown::kToPrograms},
                                {"product", "device", CellKind::kText},
                                {"matrix_flops_per_second", "products", CellKind::kFlopRate},
                                {"memory_bytes_per_second", "memory", CellKind::kByteRate},
                                {"between_kernels_ns", "between kernels", CellKind::kTime},
                                {"ops", "ops"},
                                {"judged", "", CellKind::kCount, Shown::kToPrograms},
                                {"dropped", "dropped", CellKind::kCount, Shown::kUnlessZero},
                                {"disturbed", "disturbed", CellKind::kCount, Shown::kUnlessZero},
                                {"alone_speedup", "alone", CellKind::kNumber},
                                {"compute_share", "taken", CellKind::kShare},
                                {"busy_slowdown", "", CellKind::kNumber, Shown::kToPrograms},
                                {"collectives", "collectives"},
                                {"all_reduce_bytes_per_second", "all-reduce", CellKind::kByteRate}}};
  for (const NodeSpec& node : machine.kinds) {
    const DeviceSpec& device = machine.devices[static_cast<std::size_t>(node.device)];
    double peak = 0;
    for (const FlopRate rate : device.matrix_peak) peak = std::max(peak, rate.per_second());
    const bool shared = node.devices > 1;
    const auto of_several = [&](double figure) { return shared ? ReportCell(figure) : ReportCell(); };
    table.rows.push_back({std::int64_t{node.devices}, device.name, device.product, peak,
                          device.memory_bandwidth.per_second(), device.measured.between_kernels.count(),
                          static_cast<std::int64_t>(device.measured.ops.size()),
                          device.measured.conditions.judged, device.measured.conditions.dropped,
                          device.measured.conditions.disturbed, of_several(node.alone_speedup),
                          of_several(node.inside.compute_share), of_several(node.inside.busy_slowdown),
                          static_cast<std::int64_t>(node.inside.measured.collectives.size() +
                                                    node.inside.measured.messages.size()),
                          all_reduce_rate(node)});
  }
  return table;
}

}  // namespace

Json calibration_json(const CalibrationAnswer& view) {
  return {{"nadi_version", version()},
          {"file", view.file.string()},
          {"seconds", view.seconds},
          {"ranks", table_json(calibration_table(view.machine))}};
}

void print_calibration(const CalibrationAnswer& view, std::ostream& out, const ReportStyle& style) {
  out << table_text(calibration_table(view.machine),
                    {.rows = 0, .bold_titles = style.colour, .width = style.table_width});
  out << format("\nwrote {}\n", view.file.string());
}

}  // namespace nadi::inline show
