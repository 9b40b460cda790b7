#include "nadi/analysis/timeline.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "nadi/analysis/derived_work.h"
#include "nadi/analysis/timeline_extraction.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/trace/replay.h"

namespace nadi::inline traces {

std::string_view to_string(Activity activity) {
  switch (activity) {
    case Activity::kNone:
      return "none";
    case Activity::kHost:
      return "host";
    case Activity::kCompute:
      return "compute";
    case Activity::kCommunication:
      return "communication";
    case Activity::kMemory:
      return "memory";
  }
  unreachable();
}

std::string_view kind_of(const Communication& communication) {
  if (communication.type == NodeType::kCommSend) return "SEND";
  if (communication.type == NodeType::kCommRecv) return "RECV";
  return communication.collective ? to_string(*communication.collective) : "unknown";
}

Timeline::Timeline(const Trace& trace, const TraceDependencies& dependencies, const TimelineOptions& options)
    : trace_(&trace),
      dependencies_(&dependencies),
      activities_(trace.size(), Activity::kNone),
      lane_of_(trace.size()),
      labels_(trace.size()),
      enclosing_(trace.size(), kNoRow),
      inclusive_name_(trace.text_number("inclusive_ns")) {
  TimelineExtraction(*this, options).run();
  settle_clock();
  find_relatives();
  if (num_ops_.empty()) take_derived_work();
  inherit(phases_);
  inherit(layers_);
  order_lanes();
  if (clock_ != TimelineClock::kNone) split_shared_lanes();
}

void Timeline::settle_clock() {
  bool starts = false;
  bool durations = false;
  for (std::uint32_t row = 0; row < size() && !(starts && durations); ++row) {
    starts = starts || trace_->start(row) != Nanoseconds{};
    durations = durations || trace_->duration(row) != Nanoseconds{};
  }
  if (!durations) return;
  clock_ = starts ? TimelineClock::kRecorded : TimelineClock::kReplayed;
  if (!starts) replayed_ = replay_trace(*trace_, *dependencies_).starts;
}

void Timeline::find_relatives() {
  const bool hosted = std::ranges::find(activities_, Activity::kHost) != activities_.end();
  if (!hosted) return;
  launches_.assign(size(), kNoRow);
  for (std::uint32_t row = 0; row < size(); ++row) {
    const auto parents = dependencies_->parents(row);
    const std::size_t control = trace_->ctrl_deps(row).size();
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (activities_[parents[i]] != Activity::kHost) continue;
      if (i < control) {
        if (enclosing_[row] == kNoRow) enclosing_[row] = parents[i];
      } else if (is_device(activities_[row])) {
        std::uint32_t& launch = launches_[row];
        if (launch == kNoRow || start(parents[i]) > start(launch)) launch = parents[i];
      }
    }
  }
}

void Timeline::take_derived_work() {
  std::optional<DerivedWork> work = derive_work(*this);
  if (!work) return;
  num_ops_ = std::move(work->flops);
  if (tensor_size_.empty()) tensor_size_ = std::move(work->bytes);
}

void Timeline::inherit(std::vector<std::uint32_t>& column) const {
  if (column.empty()) return;
  for (std::uint32_t row = 0; row < size(); ++row)
    if (column[row] == 0 && is_device(activities_[row]) && enclosing_[row] != kNoRow)
      column[row] = column[enclosing_[row]];
}

void Timeline::order_lanes() {
  lane_begins_.assign(lanes_.size() + 1, 0);
  for (std::uint32_t row = 0; row < size(); ++row)
    if (activities_[row] != Activity::kNone && has_time(row)) ++lane_begins_[lane_of_[row] + 1];
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) lane_begins_[lane + 1] += lane_begins_[lane];
  std::vector<std::uint64_t> next(lane_begins_.begin(), lane_begins_.end() - 1);
  lane_rows_.resize(lane_begins_.back());
  for (std::uint32_t row = 0; row < size(); ++row)
    if (activities_[row] != Activity::kNone && has_time(row)) lane_rows_[next[lane_of_[row]]++] = row;
  const auto earlier = [this](std::uint32_t a, std::uint32_t b) {
    const Nanoseconds start_a = start(a), start_b = start(b);
    return start_a != start_b ? start_a < start_b : a < b;
  };
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const auto begin = lane_rows_.begin() + static_cast<std::ptrdiff_t>(lane_begins_[lane]);
    const auto end = lane_rows_.begin() + static_cast<std::ptrdiff_t>(lane_begins_[lane + 1]);
    if (!std::is_sorted(begin, end, earlier)) std::sort(begin, end, earlier);
  }
}

// Each node on the first lane of its kind that is free when it starts, as a room is given to a meeting.
void Timeline::split_shared_lanes() {
  using Busy = std::pair<Nanoseconds, std::uint32_t>;  // until when, which
  bool any = false;
  for (const std::uint32_t shared : shared_lanes_) {
    const std::string kind = lanes_[shared].name;
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
    free.push(shared);
    for (const std::uint32_t row : rows_of(shared)) {
      for (; !busy.empty() && busy.top().first <= start(row); busy.pop()) free.push(busy.top().second);
      if (free.empty()) {
        any = true;
        free.push(static_cast<std::uint32_t>(lanes_.size()));
        lanes_.push_back({.name = format("{} {}", kind, busy.size() + 1)});
      }
      lane_of_[row] = free.top();
      busy.emplace(end(row), free.top());
      free.pop();
    }
  }
  if (any) order_lanes();
}

Nanoseconds Timeline::inclusive_end(std::uint32_t row) const {
  if (inclusive_name_)
    if (const auto attribute = trace_->find_attribute(row, *inclusive_name_))
      return start(row) + Nanoseconds{std::max<std::int64_t>(attribute->integer().value_or(0), 0)};
  return end(row);
}

std::optional<std::int64_t> Timeline::step(std::uint32_t row) const {
  if (step_numbers_.empty() || step_numbers_[row] < 0) return std::nullopt;
  return steps_[static_cast<std::size_t>(step_numbers_[row])];
}

std::optional<Flops> Timeline::num_ops(std::uint32_t row) const {
  if (num_ops_.empty() || num_ops_[row] < 0) return std::nullopt;
  return Flops{num_ops_[row]};
}

std::optional<Bytes> Timeline::tensor_size(std::uint32_t row) const {
  if (tensor_size_.empty() || tensor_size_[row] < 0) return std::nullopt;
  return Bytes{tensor_size_[row]};
}

}  // namespace nadi::inline traces
