// What the timers of Megatron-LM's log measure, by their names.
#pragma once

#include <cstdint>
#include <string_view>

#include "nadi/draw/timeline_view.h"

namespace nadi::inline files {
struct TrainingLog;
}  // namespace nadi::inline files

namespace nadi::inline show {

inline constexpr std::string_view kWholePassTimer = "forward-backward";
inline constexpr std::string_view kForwardTimer = "forward-compute";
inline constexpr std::string_view kBackwardTimer = "backward-compute";

enum class TimerPlace : std::uint8_t {
  kIteration,   // a part of the iteration of its own
  kWithinPass,  // within forward-backward
  kElsewhere,   // within another timer, or outside of iterations
};
TimerPlace place_of_timer(std::string_view name);
TimelineKind kind_of_timer(std::string_view name);

// Error (input) where the log has no iterations.
void require_iterations(const TrainingLog& log);

}  // namespace nadi::inline show
