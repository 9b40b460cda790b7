#include "nadi/draw/log_timers.h"

#include "nadi/base/error.h"
#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline show {
namespace {

bool has_word(std::string_view name, std::string_view word) {
  return name.find(word) != std::string_view::npos;
}

bool is_message(std::string_view name) {
  return has_word(name, "send") || has_word(name, "recv");
}

}  // namespace

TimerPlace place_of_timer(std::string_view name) {
  if (name == kForwardTimer || name == kBackwardTimer || is_message(name)) return TimerPlace::kWithinPass;
  // Parts of the optimizer and of forward-compute; what comes once or between iterations.
  if (name.starts_with("optimizer-") || name == "batch-generator" || has_word(name, "setup") ||
      has_word(name, "checkpoint") || name == "interval-time")
    return TimerPlace::kElsewhere;
  return TimerPlace::kIteration;
}

TimelineKind kind_of_timer(std::string_view name) {
  if (name == kForwardTimer || name == "forward") return TimelineKind::kForward;
  if (name == kBackwardTimer || name == "backward") return TimelineKind::kBackward;
  if (name.starts_with("optimizer")) return TimelineKind::kOptimizer;
  if (is_message(name) || has_word(name, "reduce") || has_word(name, "gather") || has_word(name, "sync"))
    return TimelineKind::kCommunication;
  return name == "batch-generator" ? TimelineKind::kHost : TimelineKind::kOther;
}

void require_iterations(const TrainingLog& log) {
  if (log.iterations.empty())
    throw input_error({}, "the log has no line of an iteration: there is nothing to draw",
                      "the last rank prints them; give the log of its node, too");
}

}  // namespace nadi::inline show
