// A step and what it costs, as text for people.
#pragma once

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline show {

struct Console;
struct StepView;

enum class LayerRows {
  kCollapsed,  // neighbouring blocks that cost the same are one row
  kAll,
};

void print_step(const StepView& view, LayerRows rows, Console& console);

// The ops of each section, one per line.
void print_sections(const Program& program, Console& console);

}  // namespace nadi::inline show
