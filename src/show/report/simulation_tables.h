// The tables of a simulated step, for text and JSON. For our own sources: simulation_report.h is what others
// use.
#pragma once

#include <cstdint>

#include "nadi/report/simulation_report.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {

// Rows for people: ranks with the same figures are one row, whichever trace they were read from.
enum class RankRows : std::uint8_t { kByClass, kByFigures };

// Where the time of each class of ranks went; a row adds up to the iteration time.
ReportTable simulated_ranks_table(const SimulationView& view, RankRows rows = RankRows::kByClass);
// Communication by group and kind; each row that of the class which waits longest for it.
ReportTable simulated_communication_table(const SimulationView& view);
ReportTable simulated_memory_table(const SimulationView& view, RankRows rows = RankRows::kByClass);
ReportTable simulated_traffic_table(const SimulationView& view);
ReportTable simulated_links_table(const SimulationView& view);
ReportTable what_if_table(const SimulationView& view);

}  // namespace nadi::inline show
