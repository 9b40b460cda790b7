// What changed between two runs, op by op.
//
//   OpProfile before, after;
//   before.add(timeline);                        // each rank of the run
//   after.add(another);
//   const Comparison comparison = compare(before, after);
//
// Figures are per step of a rank: sums divided by the number of steps of all ranks, so that runs of different
// lengths and numbers of ranks can be laid side by side. A rank whose nodes name no step counts as one step.
//
// Ops are matched by activity and name (changes), and where an op occurs equally often per step in both, each
// of its occurrences is, too: by layer and phase, and within these by its place in the step (occurrences).
// Where the numbers differ, occurrences cannot be told apart and are not matched. Needs times.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "nadi/analysis/timeline.h"
#include "nadi/trace/string_table.h"

namespace nadi::inline traces {

class OpProfile {
 public:
  void add(const Timeline& timeline);

  std::int64_t rank_steps() const { return rank_steps_; }  // steps, summed over ranks

 private:
  friend class ComparisonMaker;

  // One occurrence of an op in a step; the texts are numbers in texts_.
  struct Key {
    std::uint32_t name = 0, layer = 0, phase = 0;
    std::uint32_t occurrence = 0;
    Activity activity = Activity::kNone;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Sum {
    std::int64_t nodes = 0;
    Nanoseconds time;
  };

  StringTable texts_;
  std::unordered_map<Key, Sum, KeyHash> sums_;
  std::int64_t rank_steps_ = 0;
};

// Per step of a rank.
struct Rate {
  double nodes = 0;
  double time_ns = 0;
};

enum class ChangeKind { kBoth, kNew, kGone };

struct Change {
  std::string name = {};
  Activity activity = Activity::kNone;
  ChangeKind kind = ChangeKind::kBoth;
  Rate before = {}, after = {};
  double difference_ns() const { return after.time_ns - before.time_ns; }
};

struct OccurrenceChange {
  std::string name = {}, layer = {}, phase = {};
  std::int64_t occurrence = 0;  // within the step, layer and phase, from 0
  Activity activity = Activity::kNone;
  double before_ns = 0, after_ns = 0;
  double difference_ns() const { return after_ns - before_ns; }
};

struct Comparison {
  std::vector<Change> activities = {};             // host, compute, communication, memory
  std::vector<Change> ops = {};                    // the largest difference first, whichever way
  std::vector<OccurrenceChange> occurrences = {};  // the same; up to `kept`
};
Comparison compare(const OpProfile& before, const OpProfile& after, std::size_t kept = 1000);

}  // namespace nadi::inline traces
