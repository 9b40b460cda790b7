#include "nadi/draw/timeline_view.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::string_view, kTimelineKinds> kKindNames = {
    "compute",  "communication", "memory", "host",   "forward",
    "backward", "optimizer",     "idle",   "bubble", "other"};

}  // namespace

std::string_view to_string(TimelineKind kind) {
  return kKindNames.at(static_cast<std::size_t>(kind));
}

std::uint32_t TimelineView::add_group(TimelineGroup group) {
  groups_.push_back(std::move(group));
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

std::uint32_t TimelineView::add_lane(TimelineLane lane) {
  check(lane.group < groups_.size(), "a lane of a group that is not there");
  check(lane.predicted_of == kNoLane || lane.predicted_of < lanes_.size(), "a prediction of no lane");
  lanes_.emplace_back().about = std::move(lane);
  return static_cast<std::uint32_t>(lanes_.size() - 1);
}

std::uint32_t TimelineView::label(std::string_view name, TimelineKind kind) {
  const Label label{.name = texts_.intern(name), .kind = kind};
  const auto [place, added] = label_numbers_.try_emplace(label, static_cast<std::uint32_t>(labels_.size()));
  if (added) labels_.push_back(label);
  return place->second;
}

std::uint32_t TimelineView::detail(std::span<const std::pair<std::string_view, std::string_view>> texts) {
  if (texts.empty()) return 0;
  std::u32string words;
  for (const auto& [key, value] : texts) {
    words.push_back(texts_.intern(key));
    words.push_back(texts_.intern(value));
  }
  const auto number = static_cast<std::uint32_t>(detail_ends_.size());
  const auto [place, added] = detail_numbers_.try_emplace(std::move(words), number);
  if (added) {
    detail_words_.insert(detail_words_.end(), place->first.begin(), place->first.end());
    detail_ends_.push_back(static_cast<std::uint32_t>(detail_words_.size()));
  }
  return place->second;
}

std::uint32_t TimelineView::number_column(std::string_view name, std::string_view unit) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].name == name && columns_[i].unit == unit) return static_cast<std::uint32_t>(i);
  columns_.push_back({.name = std::string(name), .unit = std::string(unit)});
  return static_cast<std::uint32_t>(columns_.size() - 1);
}

TimelineEventRef TimelineView::add(std::uint32_t lane, const TimelineEvent& event) {
  Events& events = lanes_.at(lane);
  const std::size_t index = events.starts.size();
  if (index >= std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::kInfeasible, {}, "a lane of a timeline holds no more than 2^32 - 1 events");
  std::int64_t end = 0;
  if (event.duration < 0 || __builtin_add_overflow(event.start, event.duration, &end))
    throw input_error({}, fmt::format("event '{}' starts at {} ns and lasts {} ns",
                                      text(labels_.at(event.label).name), event.start, event.duration));
  check(event.label < labels_.size() && event.detail < detail_ends_.size(), "an event of an unknown label");
  events.starts.push_back(event.start);
  events.durations.push_back(event.duration);
  events.labels.push_back(event.label);
  events.details.push_back(event.detail);
  if (event.micro_batch != kNoMicroBatch) {
    events.micro_batches.resize(index, kNoMicroBatch);
    events.micro_batches.push_back(event.micro_batch);
  }
  if (event.chunk != 0) {
    events.chunks.resize(index);
    events.chunks.push_back(event.chunk);
  }
  for (const TimelineNumber& number : event.numbers) {
    check(number.column < columns_.size(), "a figure of an unknown column");
    if (events.numbers.size() <= number.column) events.numbers.resize(number.column + 1);
    std::vector<SparseNumber>& column = events.numbers[number.column];
    check(column.empty() || column.back().index != index, "two figures of one event in one column");
    column.push_back({.index = static_cast<std::uint32_t>(index), .value = number.value});
  }
  return {.lane = lane, .index = static_cast<std::uint32_t>(index)};
}

void TimelineView::link(TimelineEventRef from, TimelineEventRef to, TimelineLinkKind kind) {
  check(from.lane < lanes_.size() && from.index < event_count(from.lane), "a link from no event");
  check(to.lane < lanes_.size() && to.index < event_count(to.lane), "a link to no event");
  links_.push_back({.from = from, .to = to, .kind = kind});
}

std::uint64_t TimelineView::event_count() const {
  std::uint64_t count = 0;
  for (const Events& events : lanes_) count += events.starts.size();
  return count;
}

std::span<const std::uint32_t> TimelineView::detail_texts(std::uint32_t detail) const {
  const std::size_t begin = detail == 0 ? 0 : detail_ends_[detail - 1];
  return std::span(detail_words_).subspan(begin, detail_ends_[detail] - begin);
}

}  // namespace nadi::inline show
