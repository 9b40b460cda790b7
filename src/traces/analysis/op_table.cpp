#include "nadi/analysis/op_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/natural_order.h"

namespace nadi::inline traces {
namespace {

// Ops nested deeper are passed over when time is handed up: a file could be made of one endless nest.

bool more(const OpRow& a, const OpRow& b) {
  const Nanoseconds time_a = a.time.total(), time_b = b.time.total();
  return std::tie(time_b, b.work.amount, a.activity, a.name) <
         std::tie(time_a, a.work.amount, b.activity, b.name);
}

bool more_device(const GroupRow& a, const GroupRow& b) {
  const Nanoseconds device_a = a.device(), device_b = b.device();
  return std::tie(device_b, b.host, b.work.amount, a.name) <
         std::tie(device_a, a.host, a.work.amount, b.name);
}

bool earlier_layer(const GroupRow& a, const GroupRow& b) {
  if (a.name.empty() != b.name.empty()) return b.name.empty();
  return natural_less(a.name, b.name);
}

void put_in_order(std::vector<GroupRow>& rows, Grouping grouping) {
  switch (grouping) {
    case Grouping::kLayer:
      std::ranges::sort(rows, earlier_layer);
      return;
    case Grouping::kPhase:
      std::ranges::sort(rows, more_device);
      return;
    case Grouping::kStep:
      return;
  }
  unreachable();
}

class OpTable {
 public:
  explicit OpTable(const Timeline& timeline) : timeline_(timeline) {}

  std::vector<OpRow> run() {
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      if (timeline_.activity(row) != Activity::kNone) add(row);
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      if (is_device(timeline_.activity(row)) && timeline_.enclosing(row) != kNoRow) hand_up(row);
    std::ranges::sort(rows_, more);
    return std::move(rows_);
  }

 private:
  std::uint32_t row_of(Activity activity, std::uint32_t label) {
    const std::uint64_t key = std::uint64_t{label} << 3 | static_cast<std::uint64_t>(activity);
    const auto [entry, is_new] = places_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
    if (is_new) {
      OpRow& row = rows_.emplace_back();
      row.name = timeline_.text(label);
      row.activity = activity;
      counted_for_.push_back(kNoRow);
    }
    return entry->second;
  }

  void add(std::uint32_t node) {
    OpRow& row = rows_[row_of(timeline_.activity(node), timeline_.label(node))];
    const Nanoseconds duration = timeline_.duration(node);
    row.time.add(duration);
    if (const auto work = timeline_.num_ops(node)) row.work.add(work->count(), duration);
    if (const auto bytes = timeline_.tensor_size(node)) row.bytes.add(bytes->count(), duration);
  }

  void hand_up(std::uint32_t node) {
    std::uint32_t op = timeline_.enclosing(node);
    for (int depth = 0; op != kNoRow && depth < kMaxNesting; ++depth, op = timeline_.enclosing(op)) {
      const std::uint32_t place = row_of(Activity::kHost, timeline_.label(op));
      if (counted_for_[place] == node) continue;
      counted_for_[place] = node;
      ++rows_[place].launched;
      rows_[place].device_time += timeline_.duration(node);
    }
  }

  const Timeline& timeline_;
  std::vector<OpRow> rows_;
  std::vector<std::uint32_t> counted_for_;  // by row of the table: the node it was last given
  std::unordered_map<std::uint64_t, std::uint32_t> places_;
};

void add_node(GroupRow& group, const Timeline& timeline, std::uint32_t node) {
  if (timeline.has_time(node)) {
    const Nanoseconds start = timeline.start(node), end = timeline.end(node);
    group.start = group.timed == 0 ? start : std::min(group.start, start);
    group.end = group.timed == 0 ? end : std::max(group.end, end);
    ++group.timed;
  }
  ++group.nodes;
  const Nanoseconds duration = timeline.duration(node);
  switch (timeline.activity(node)) {
    case Activity::kNone:
      break;
    case Activity::kHost:
      group.host += duration;
      break;
    case Activity::kCompute:
      group.compute += duration;
      break;
    case Activity::kCommunication:
      group.communication += duration;
      break;
    case Activity::kMemory:
      group.memory += duration;
      break;
  }
  if (const auto work = timeline.num_ops(node)) group.work.add(work->count(), duration);
  if (const auto bytes = timeline.tensor_size(node)) group.bytes.add(bytes->count(), duration);
}

}  // namespace

void KnownAmount::add(std::int64_t value, Nanoseconds duration) {
  add({.nodes = 1, .amount = value, .time = duration});
}

void KnownAmount::add(const KnownAmount& other) {
  nodes += other.nodes;
  amount = (Bytes{amount} + Bytes{other.amount}).count();  // refuses to overflow
  time += other.time;
}

double KnownAmount::per_second() const {
  if (time.count() <= 0) return 0;
  return static_cast<double>(amount) / static_cast<double>(time.count()) * 1e9;
}

std::vector<OpRow> op_rows(const Timeline& timeline) {
  return OpTable(timeline).run();
}

void add_op_rows(std::vector<OpRow>& rows, const std::vector<OpRow>& others) {
  std::map<std::pair<Activity, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) places[{rows[i].activity, rows[i].name}] = i;
  for (const OpRow& other : others) {
    const auto place = places.find({other.activity, other.name});
    if (place == places.end()) {
      rows.push_back(other);
      continue;
    }
    OpRow& row = rows[place->second];
    row.time.add(other.time);
    row.work.add(other.work);
    row.bytes.add(other.bytes);
    row.launched += other.launched;
    row.device_time += other.device_time;
  }
  std::ranges::sort(rows, more);
}

std::vector<GroupRow> group_rows(const Timeline& timeline, Grouping grouping) {
  std::map<std::int64_t, GroupRow> groups;  // by step or number of the text; -1 means nothing said
  for (std::uint32_t node = 0; node < timeline.size(); ++node) {
    if (timeline.activity(node) == Activity::kNone) continue;
    std::int64_t key = -1;
    if (grouping == Grouping::kStep) {
      key = timeline.step(node).value_or(-1);
    } else {
      const std::uint32_t text = grouping == Grouping::kLayer ? timeline.layer(node) : timeline.phase(node);
      if (text != 0) key = text;
    }
    add_node(groups[key], timeline, node);
  }
  if (groups.empty() || (groups.size() == 1 && groups.contains(-1))) return {};
  std::vector<GroupRow> rows;
  for (auto& [key, group] : groups) {
    if (key >= 0)
      group.name = grouping == Grouping::kStep ? std::to_string(key)
                                               : std::string(timeline.text(static_cast<std::uint32_t>(key)));
    rows.push_back(std::move(group));
  }
  put_in_order(rows, grouping);
  return rows;
}

void add_group_rows(std::vector<GroupRow>& rows, const std::vector<GroupRow>& others, Grouping grouping) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) places[rows[i].name] = i;
  for (const GroupRow& other : others) {
    const auto place = places.find(other.name);
    if (place == places.end()) {
      rows.push_back(other);
      continue;
    }
    GroupRow& row = rows[place->second];
    if (other.timed > 0) {
      row.start = row.timed == 0 ? other.start : std::min(row.start, other.start);
      row.end = row.timed == 0 ? other.end : std::max(row.end, other.end);
    }
    row.timed += other.timed;
    row.nodes += other.nodes;
    row.host += other.host;
    row.compute += other.compute;
    row.communication += other.communication;
    row.memory += other.memory;
    row.work.add(other.work);
    row.bytes.add(other.bytes);
  }
  put_in_order(rows, grouping);
}

}  // namespace nadi::inline traces
