// The tables of a simulated step, for text and JSON. For our own sources: simulation_report.h is what others
// use.
#pragma once

#include "nadi/report/report_table.h"
#include "nadi/report/simulation_report.h"

namespace nadi {

// Where the time of each class of ranks went; a row adds up to the iteration time.
ReportTable simulated_ranks_table(const SimulationView& view);
// Communication by group and kind; each row that of the class which waits longest for it.
ReportTable simulated_communication_table(const SimulationView& view);
ReportTable simulated_memory_table(const SimulationView& view);
ReportTable simulated_traffic_table(const SimulationView& view);
ReportTable what_if_table(const SimulationView& view);

}  // namespace nadi
