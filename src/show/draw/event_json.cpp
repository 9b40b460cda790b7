#include "nadi/draw/event_json.h"

#include <algorithm>
#include <limits>

#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"

namespace nadi::inline show {
namespace {

// What writers write of every event.
bool is_taken(std::string_view name) {
  return name == "name" || name == "kind" || name == "start_ns" || name == "duration_ns" ||
         name == "micro_batch" || name == "chunk";
}

}  // namespace

std::int64_t first_start(const TimelineView& view) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane)
    for (const std::int64_t start : view.events(lane).starts) first = std::min(first, start);
  return first == std::numeric_limits<std::int64_t>::max() ? 0 : first;
}

EventMembers::EventMembers(const TimelineView& view, std::uint32_t lane)
    : view_(view), events_(view.events(lane)), next_(events_.numbers.size()) {
  for (const TimelineView::NumberColumn& column : view.number_columns()) {
    std::string& name = column_names_.emplace_back();
    append_json_text(name, column.name);
  }
}

void EventMembers::append(std::string& out, std::uint32_t index) {
  if (index < events_.micro_batches.size() && events_.micro_batches[index] != kNoMicroBatch)
    fmt::format_to(std::back_inserter(out), R"(, "micro_batch": {})", events_.micro_batches[index]);
  if (index < events_.chunks.size() && events_.chunks[index] != 0)
    fmt::format_to(std::back_inserter(out), R"(, "chunk": {})", events_.chunks[index]);
  for (std::size_t column = 0; column < next_.size(); ++column) {
    const std::vector<TimelineView::SparseNumber>& numbers = events_.numbers[column];
    std::size_t& next = next_[column];
    while (next < numbers.size() && numbers[next].index < index) ++next;
    if (next < numbers.size() && numbers[next].index == index)
      fmt::format_to(std::back_inserter(out), ", {}: {}", column_names_[column], numbers[next].value);
  }
  const std::span<const std::uint32_t> texts = view_.detail_texts(events_.details[index]);
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
    if (is_taken(view_.text(texts[i]))) continue;
    out += ", ";
    append_json_text(out, view_.text(texts[i]));
    out += ": ";
    append_json_text(out, view_.text(texts[i + 1]));
  }
}

}  // namespace nadi::inline show
