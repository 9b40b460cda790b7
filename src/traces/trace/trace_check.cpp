// Depth-first search over "waits for" edges with three colours. A row is open while it is on the stack;
// meeting an open row again closes a cycle, which is then the stack from that row upwards.
#include "nadi/trace/trace_check.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/cycle_text.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {

namespace {

Place place_of(const TraceOrigin& origin, std::size_t row) {
  Place place{.file = origin.file};
  if (row < origin.record_bytes.size()) place.byte = static_cast<std::int64_t>(origin.record_bytes[row]);
  return place;
}

std::string describe(const Trace& trace, std::size_t row) {
  return format("node {} {}", to_number(trace.id(row)), quote_for_message(trace.name(row)));
}

std::size_t dependency_count(const Trace& trace, std::size_t row) {
  return trace.ctrl_deps(row).size() + trace.data_deps(row).size();
}

TraceNodeId dependency(const Trace& trace, std::size_t row, std::size_t i) {
  const auto ctrl = trace.ctrl_deps(row);
  return i < ctrl.size() ? ctrl[i] : trace.data_deps(row)[i - ctrl.size()];
}

bool every_parent_comes_first(const Trace& trace, const TraceIndex& index) {
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const auto is_earlier = [&](TraceNodeId id) { return *index.row_of(id) < row; };
    if (!std::ranges::all_of(trace.ctrl_deps(row), is_earlier)) return false;
    if (!std::ranges::all_of(trace.data_deps(row), is_earlier)) return false;
  }
  return true;
}

// `cycle` holds rows, each waiting for the next and the last for the first.
Error cycle_error(const Trace& trace, std::vector<std::uint32_t> cycle, const TraceOrigin& origin) {
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  const std::string path = cycle_text(
      cycle.size(), [&](std::size_t i) { return describe(trace, cycle[i]); },
      format("node {}", to_number(trace.id(cycle.front()))));
  return input_error(place_of(origin, cycle.front()),
                     cycle.size() == 1
                         ? format("a node waits for itself: {}", path)
                         : format("{} nodes wait for each other in a cycle: {}", cycle.size(), path),
                     "an arrow points to the node waited for; a trace with a cycle can never be replayed");
}

}  // namespace

void check_unique_ids(const Trace& trace, const TraceIndex& index, const TraceOrigin& origin) {
  const auto duplicate = index.duplicate();
  if (!duplicate) return;
  const auto [first, second] = *duplicate;
  std::string message = format("node id {} is used twice: by {} and here by {}", to_number(trace.id(first)),
                               quote_for_message(trace.name(first)), quote_for_message(trace.name(second)));
  if (first < origin.record_bytes.size()) message += format("; first at byte {}", origin.record_bytes[first]);
  throw input_error(place_of(origin, second), message,
                    "ids must be unique within a file; are two ranks' traces joined in one?");
}

void check_parents_exist(const Trace& trace, const TraceIndex& index, const TraceOrigin& origin) {
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const std::size_t ctrl = trace.ctrl_deps(row).size();
    for (std::size_t i = 0; i < dependency_count(trace, row); ++i) {
      const TraceNodeId parent = dependency(trace, row, i);
      if (index.row_of(parent)) continue;
      throw input_error(place_of(origin, row),
                        format("{} has a {} dependency on node {}, which is not in the file",
                               describe(trace, row), i < ctrl ? "control" : "data", to_number(parent)),
                        "was the file cut short, or were nodes removed from it?");
    }
  }
}

void check_no_cycle(const Trace& trace, const TraceIndex& index, const TraceOrigin& origin) {
  if (every_parent_comes_first(trace, index)) return;
  enum class Colour : std::uint8_t { kNew, kOpen, kDone };
  struct Visit {
    std::uint32_t row;
    std::size_t next;  // dependency to follow next
  };
  std::vector<Colour> colours(trace.size(), Colour::kNew);
  std::vector<Visit> stack;
  for (std::uint32_t root = 0; root < trace.size(); ++root) {
    if (colours[root] != Colour::kNew) continue;
    stack.push_back({root, 0});
    colours[root] = Colour::kOpen;
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next == dependency_count(trace, top.row)) {
        colours[top.row] = Colour::kDone;
        stack.pop_back();
        continue;
      }
      const std::uint32_t parent = *index.row_of(dependency(trace, top.row, top.next++));
      if (colours[parent] == Colour::kOpen) {
        const auto first = std::ranges::find(stack, parent, &Visit::row);
        std::vector<std::uint32_t> cycle;
        std::transform(first, stack.end(), std::back_inserter(cycle), [](const Visit& v) { return v.row; });
        throw cycle_error(trace, std::move(cycle), origin);
      }
      if (colours[parent] == Colour::kDone) continue;
      colours[parent] = Colour::kOpen;
      stack.push_back({parent, 0});
    }
  }
}

void check_trace(const Trace& trace, const TraceOrigin& origin) {
  const TraceIndex index(trace);
  check_unique_ids(trace, index, origin);
  check_parents_exist(trace, index, origin);
  check_no_cycle(trace, index, origin);
}

}  // namespace nadi::inline traces
