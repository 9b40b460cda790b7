// A step and what it costs, as text for people.
#pragma once

#include <vector>

namespace nadi::inline describe {
struct Program;
}  // namespace nadi::inline describe

namespace nadi::inline ask {
struct StepAnswer;
}  // namespace nadi::inline ask

namespace nadi::inline show {

struct Console;
struct FlagSetting;

enum class LayerRows {
  kCollapsed,  // neighbouring blocks that cost the same are one row
  kAll,
};

// `settings` are those of the step, with what the user gave.
void print_step(const StepAnswer& answer, const std::vector<FlagSetting>& settings, LayerRows rows,
                Console& console);

// The ops of each section, one per line.
void print_sections(const Program& program, Console& console);

}  // namespace nadi::inline show
