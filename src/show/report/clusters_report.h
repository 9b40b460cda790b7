// The catalogue of clusters and devices, and one cluster in full: text and JSON of `nadi clusters`, and the
// second half of `nadi devices`.
#pragma once

#include <iosfwd>
#include <span>

#include "nadi/cluster/cluster.h"
#include "nadi/tables/report_style.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {

ReportTable clusters_table(std::span<const Cluster> clusters);
ReportTable device_kinds_table(std::span<const DeviceSpec> devices);
// Figure by figure.
ReportTable sources_table(std::span<const FigureSource> sources);

// Nodes, fabrics and devices with all figures and their sources.
void print_cluster(const Cluster& cluster, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
