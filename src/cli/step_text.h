// A step and what it costs, as text for people.
#pragma once

#include "nadi/cli/step_flags.h"

namespace nadi {

struct Console;
struct Program;
struct ProgramSummary;

enum class LayerRows {
  kCollapsed,  // neighbouring blocks that cost the same are one row
  kAll,
};

void print_step(const ResolvedStep& step, const ProgramSummary& summary, LayerRows rows, Console& console);

// The ops of each section, one per line.
void print_sections(const Program& program, Console& console);

}  // namespace nadi
