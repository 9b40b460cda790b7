#include "nadi/report/clusters_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"

namespace nadi::inline show {
namespace {

ReportCell rate_or_absent(double per_second) {
  return per_second > 0 ? ReportCell(per_second) : ReportCell();
}

ReportCell dollars_or_absent(const std::optional<double>& price) {
  return price ? ReportCell(*price) : ReportCell();
}

std::optional<double> price_of_node(const Cluster& cluster, const NodeSpec& node) {
  if (node.price_per_hour) return node.price_per_hour;
  const auto& price = cluster.devices[static_cast<std::size_t>(node.device)].price_per_hour;
  return price ? std::optional(*price * node.devices) : std::nullopt;
}

std::optional<double> price_of_cluster(const Cluster& cluster) {
  double sum = 0;
  for (std::int32_t number = 0; number < static_cast<std::int32_t>(cluster.nodes.size()); ++number) {
    const auto price = price_of_node(cluster, cluster.node(number));
    if (!price) return std::nullopt;
    sum += *price;
  }
  return sum;
}

ReportTable kinds_table(const Cluster& cluster) {
  ReportTable table{.name = "nodes",
                    .title = "Nodes",
                    .columns = {{"name", "node", CellKind::kText},
                                {"count", "nodes"},
                                {"device", "device", CellKind::kText},
                                {"devices", "devices"},
                                {"dollars_per_hour", "$/h", CellKind::kNumber}}};
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind) {
    const NodeSpec& node = cluster.kinds[kind];
    table.rows.push_back({node.name,
                          std::int64_t{std::ranges::count(cluster.nodes, static_cast<std::int32_t>(kind))},
                          cluster.devices[static_cast<std::size_t>(node.device)].name,
                          std::int64_t{node.devices}, dollars_or_absent(price_of_node(cluster, node))});
  }
  return table;
}

ReportTable fabrics_table(const Cluster& cluster) {
  ReportTable table{.name = "fabrics",
                    .title = "Fabrics",
                    .note = "bandwidth of one member in each direction",
                    .columns = {{"place", "place", CellKind::kText},
                                {"kind", "kind", CellKind::kText},
                                {"topology", "topology", CellKind::kText},
                                {"members", "members"},
                                {"bytes_per_s", "bandwidth", CellKind::kByteRate},
                                {"latency_ns", "latency", CellKind::kTime},
                                {"efficiency", "efficiency", CellKind::kShare}}};
  const auto add = [&](std::string place, const Fabric& fabric, std::int64_t members) {
    if (fabric.bandwidth > ByteRate{})
      table.rows.push_back({std::move(place), fabric.kind, std::string(to_string(fabric.topology)), members,
                            fabric.bandwidth.per_second(), fabric.latency.count(), fabric.efficiency});
  };
  for (const NodeSpec& node : cluster.kinds) {
    add("inside " + node.name, node.inside, node.devices);
    if (node.outside) add("cards of " + node.name, *node.outside, std::int64_t{1});
  }
  for (const ClusterLevel& level : cluster.levels) add(level.name, level.fabric, level.members);
  return table;
}

}  // namespace

ReportTable clusters_table(std::span<const Cluster> clusters) {
  ReportTable table{.name = "clusters",
                    .title = "Clusters",
                    .columns = {{"name", "name", CellKind::kText},
                                {"nodes", "nodes"},
                                {"devices", "devices"},
                                {"dollars_per_hour", "$/h", CellKind::kNumber},
                                {"summary", "", CellKind::kText}}};
  for (const Cluster& cluster : clusters)
    table.rows.push_back({cluster.name, static_cast<std::int64_t>(cluster.nodes.size()),
                          std::int64_t{cluster.device_count()}, dollars_or_absent(price_of_cluster(cluster)),
                          cluster.summary});
  return table;
}

ReportTable device_kinds_table(std::span<const DeviceSpec> devices) {
  ReportTable table{.name = "catalogue",
                    .title = "Catalogue",
                    .columns = {{"name", "name", CellKind::kText},
                                {"product", "product", CellKind::kText, Shown::kIfRoom},
                                {"f32_flop_per_s", "f32", CellKind::kFlopRate, Shown::kIfRoom},
                                {"bf16_flop_per_s", "bf16", CellKind::kFlopRate},
                                {"f16_flop_per_s", "f16", CellKind::kFlopRate, Shown::kIfRoom},
                                {"f8_flop_per_s", "fp8", CellKind::kFlopRate, Shown::kIfRoom},
                                {"memory_bytes_per_s", "bandwidth", CellKind::kByteRate, Shown::kIfRoom},
                                {"memory_bytes", "memory", CellKind::kBytes},
                                {"watts", "W", CellKind::kCount, Shown::kIfRoom},
                                {"dollars_per_hour", "$/h", CellKind::kNumber, Shown::kIfRoom},
                                {"source", "source", CellKind::kText, Shown::kIfRoom}}};
  for (const DeviceSpec& device : devices) {
    const auto source = std::ranges::find(device.sources, "memory_bandwidth", &FigureSource::figure);
    table.rows.push_back(
        {device.name, device.product, rate_or_absent(device.peak(DType::kF32).per_second()),
         rate_or_absent(device.peak(DType::kBF16).per_second()),
         rate_or_absent(device.peak(DType::kF16).per_second()),
         rate_or_absent(device.peak(DType::kF8E4M3).per_second()),
         rate_or_absent(device.memory_bandwidth.per_second()), device.memory.count(),
         device.power_watts ? ReportCell(static_cast<std::int64_t>(*device.power_watts)) : ReportCell(),
         dollars_or_absent(device.price_per_hour),
         source == device.sources.end() ? ReportCell() : ReportCell(source->source)});
  }
  return table;
}

ReportTable sources_table(std::span<const FigureSource> sources) {
  ReportTable table{
      .name = "sources",
      .title = "Sources",
      .columns = {{"figure", "figure", CellKind::kText}, {"source", "source", CellKind::kText}}};
  for (const FigureSource& source : sources) table.rows.push_back({source.figure, source.source});
  return table;
}

void print_cluster(const Cluster& cluster, std::ostream& out, const ReportStyle& style) {
  const TableTextOptions options{.rows = 0, .bold_titles = style.colour, .width = style.table_width};
  out << style.heading(cluster.name) << "  " << cluster.summary << "\n";
  const auto print = [&](const ReportTable& table, const std::string& title) {
    if (!table.rows.empty())
      out << "\n"
          << style.heading(title) << (table.note.empty() ? "" : "  " + table.note) << "\n"
          << table_text(table, options);
  };
  for (const ReportTable& table : {kinds_table(cluster), fabrics_table(cluster)}) print(table, table.title);
  ReportTable devices = device_kinds_table(cluster.devices);
  print(devices, "Devices");
  print(sources_table(cluster.sources), "Sources of the cluster");
  for (const DeviceSpec& device : cluster.devices)
    print(sources_table(device.sources), "Sources of " + device.name);
}

}  // namespace nadi::inline show
