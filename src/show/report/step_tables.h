// The tables of a step (`nadi show`), defined once for text and JSON.
#pragma once

#include <array>
#include <string_view>

#include "nadi/base/units.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {

// A row of one set of ops: how many there are, their FLOPs and bytes.
ReportTable work_table(const WorkSummary& work);

// A row for each phase with ops. That of a summary has what is live at the peak of each phase, too, and the
// whole step as its total.
ReportTable phase_table(const std::array<WorkSummary, kPhaseCount>& phases);
ReportTable phase_table(const ProgramSummary& summary);

// A row for each layer, and for each kind of op.
ReportTable layer_table(const ProgramSummary& summary);
ReportTable op_kind_table(const ProgramSummary& summary);

// A row for each group of ranks that the rank communicates with.
ReportTable communication_table(const ProgramSummary& summary);

// The parts of the memory of a rank, which add up to its total.
struct MemoryShare {
  std::string_view key;    // in JSON: "parameters_bytes"
  std::string_view title;  // for people: "parameters"
  Bytes size;
};
std::array<MemoryShare, 8> memory_parts(const MemorySummary& memory);
// What an engine takes, the same way.
std::array<MemoryShare, 6> memory_parts(const EngineMemory& memory);

}  // namespace nadi::inline show
