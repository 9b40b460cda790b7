#include "nadi/analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "nadi/base/hash.h"

namespace nadi::inline traces {

std::size_t OpProfile::KeyHash::operator()(const Key& key) const {
  const std::uint64_t hash = hash_with(0, std::uint64_t{key.name} << 32 | key.layer);
  return hash_with(hash, std::uint64_t{key.phase} << 40 ^ std::uint64_t{key.occurrence} << 8 ^
                             static_cast<std::uint64_t>(key.activity));
}

void OpProfile::add(const Timeline& timeline) {
  // Numbers of the trace's texts here; 0 is the empty text in both.
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  const auto number_of = [&](std::uint32_t text) {
    const auto [entry, is_new] = numbers.try_emplace(text, 0);
    if (is_new) entry->second = texts_.intern(timeline.text(text));
    return entry->second;
  };
  // Which occurrence of the op in its step comes next. The key's own occurrence is 0 here.
  struct Counter {
    std::int64_t step = 0;
    std::uint32_t next = 0;
  };
  std::unordered_map<Key, Counter, KeyHash> counters;
  std::set<std::int64_t> steps;
  std::optional<std::int64_t> latest;
  for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane) {
    for (const std::uint32_t row : timeline.rows_of(lane)) {
      const auto step = timeline.step(row);
      if (step && step != latest) steps.insert(*(latest = step));
      Key key{.name = number_of(timeline.label(row)),
              .layer = number_of(timeline.layer(row)),
              .phase = number_of(timeline.phase(row)),
              .activity = timeline.activity(row)};
      Counter& counter = counters[key];
      if (step && *step != counter.step) counter = {.step = *step};
      key.occurrence = counter.next++;
      Sum& sum = sums_[key];
      ++sum.nodes;
      sum.time += timeline.duration(row);
    }
  }
  rank_steps_ += std::max<std::int64_t>(static_cast<std::int64_t>(steps.size()), 1);
}

// Keys of both profiles in terms of one table of texts.
class ComparisonMaker {
 public:
  ComparisonMaker(const OpProfile& before, const OpProfile& after) : before_(before), after_(after) {}

  Comparison run(std::size_t kept) {
    Comparison result;
    collect(before_, &Change::before);
    collect(after_, &Change::after);
    std::map<Activity, Change> activities;
    for (auto& [key, change] : ops_) {
      change.activity = key.first;
      change.name = key.second;
      if (change.before.nodes == 0) change.kind = ChangeKind::kNew;
      if (change.after.nodes == 0) change.kind = ChangeKind::kGone;
      Change& all = activities[key.first];
      for (const auto side : {&Change::before, &Change::after}) {
        (all.*side).nodes += (change.*side).nodes;
        (all.*side).time_ns += (change.*side).time_ns;
      }
      result.ops.push_back(change);
    }
    for (auto& [activity, change] : activities) {
      change.activity = activity;
      change.name = to_string(activity);
      result.activities.push_back(change);
    }
    std::ranges::sort(result.ops, [](const Change& a, const Change& b) {
      const double size_a = std::abs(a.difference_ns()), size_b = std::abs(b.difference_ns());
      return std::tie(size_b, a.activity, a.name) < std::tie(size_a, b.activity, b.name);
    });
    match_occurrences(result, kept);
    return result;
  }

 private:
  void collect(const OpProfile& profile, Rate Change::*side) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(profile.rank_steps_, 1));
    // Sums of integers first: the order of an unordered container must not show.
    std::map<std::pair<Activity, std::uint32_t>, OpProfile::Sum> sums;
    for (const auto& [key, sum] : profile.sums_) {
      OpProfile::Sum& all = sums[{key.activity, key.name}];
      all.nodes += sum.nodes;
      all.time += sum.time;
    }
    for (const auto& [key, sum] : sums) {
      Change& change = ops_[{key.first, std::string(profile.texts_.text(key.second))}];
      (change.*side).nodes = static_cast<double>(sum.nodes) / steps;
      (change.*side).time_ns = static_cast<double>(sum.time.count()) / steps;
    }
  }

  void match_occurrences(Comparison& result, std::size_t kept) const {
    for (const auto& [key, sum] : before_.sums_) {
      const std::string_view name = before_.texts_.text(key.name);
      const auto name_after = after_.texts_.find(name);
      const auto layer = after_.texts_.find(before_.texts_.text(key.layer));
      const auto phase = after_.texts_.find(before_.texts_.text(key.phase));
      if (!name_after || !layer || !phase) continue;
      const Change& op = ops_.find({key.activity, std::string(name)})->second;
      if (op.before.nodes != op.after.nodes) continue;
      const auto match = after_.sums_.find({.name = *name_after,
                                            .layer = *layer,
                                            .phase = *phase,
                                            .occurrence = key.occurrence,
                                            .activity = key.activity});
      if (match == after_.sums_.end()) continue;
      const auto mean = [](const OpProfile::Sum& of) {
        return static_cast<double>(of.time.count()) / static_cast<double>(of.nodes);
      };
      result.occurrences.push_back({.name = std::string(name),
                                    .layer = std::string(before_.texts_.text(key.layer)),
                                    .phase = std::string(before_.texts_.text(key.phase)),
                                    .occurrence = key.occurrence,
                                    .activity = key.activity,
                                    .before_ns = mean(sum),
                                    .after_ns = mean(match->second)});
      if (result.occurrences.size() >= 2 * kept + 1000) keep_largest(result.occurrences, kept);
    }
    keep_largest(result.occurrences, kept);
  }

  static void keep_largest(std::vector<OccurrenceChange>& changes, std::size_t count) {
    std::ranges::sort(changes, [](const OccurrenceChange& a, const OccurrenceChange& b) {
      const double size_a = std::abs(a.difference_ns()), size_b = std::abs(b.difference_ns());
      return std::tie(size_b, a.activity, a.name, a.layer, a.phase, a.occurrence) <
             std::tie(size_a, b.activity, b.name, b.layer, b.phase, b.occurrence);
    });
    if (changes.size() > count) changes.resize(count);
  }

  const OpProfile& before_;
  const OpProfile& after_;
  std::map<std::pair<Activity, std::string>, Change> ops_;
};

Comparison compare(const OpProfile& before, const OpProfile& after, std::size_t kept) {
  return ComparisonMaker(before, after).run(kept);
}

}  // namespace nadi::inline traces
