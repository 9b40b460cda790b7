#include "nadi/trace/replay.h"

#include <algorithm>
#include <optional>

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi::inline traces {

Replay replay_trace(const Trace& trace, const TraceDependencies& dependencies) {
  Replay replay{.starts = std::vector<Nanoseconds>(trace.size()), .span = {}};
  for (const std::uint32_t row : dependencies.order()) {
    Nanoseconds& start = replay.starts[row];
    for (const std::uint32_t parent : dependencies.parents(row))
      start = std::max(start, replay.starts[parent] + trace.duration(parent));
    replay.span = std::max(replay.span, start + trace.duration(row));
  }
  return replay;
}

Nanoseconds recorded_span(const Trace& trace) {
  std::optional<Nanoseconds> first;
  Nanoseconds last;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (trace.start(row) == Nanoseconds{} && trace.duration(row) == Nanoseconds{}) continue;
    first = std::min(first.value_or(trace.start(row)), trace.start(row));
    last = std::max(last, trace.start(row) + trace.duration(row));
  }
  return first ? last - *first : Nanoseconds{};
}

}  // namespace nadi::inline traces
