// Tables of what was done: by op, and by what the ops belong to (layer, phase, step).
//
//   std::vector<OpRow> rows = op_rows(timeline);             // of one rank
//   add_op_rows(rows, op_rows(another));                     // and of another, op by op
//   const std::vector<GroupRow> layers = group_rows(timeline, Grouping::kLayer);
//
// The host's ops have the time that is theirs alone, without what was nested in them; beside it stands the
// time of all that was launched within them on the device, at any depth. An op that is nested in one of the
// same name counts once there. Without a clock, times are 0 and numbers, work and sizes are still right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/analysis/duration_statistics.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

// Work or bytes of nodes, and how long the nodes that say theirs took: what a rate is made of.
struct KnownAmount {
  std::int64_t nodes = 0;
  std::int64_t amount = 0;
  Nanoseconds time = {};

  void add(std::int64_t value, Nanoseconds duration);
  void add(const KnownAmount& other);
  // Per second; 0 where no time has passed.
  double per_second() const;
};

struct OpRow {
  std::string name = {};
  Activity activity = Activity::kNone;
  DurationStatistics time = {};
  KnownAmount work = {};   // num_ops
  KnownAmount bytes = {};  // tensor_size
  // For the host's ops: what was launched within.
  std::int64_t launched = 0;
  Nanoseconds device_time = {};
};

// The longest time first, then the most work, then by activity and name.
std::vector<OpRow> op_rows(const Timeline& timeline);
void add_op_rows(std::vector<OpRow>& rows, const std::vector<OpRow>& others);

enum class Grouping { kLayer, kPhase, kStep };

struct GroupRow {
  std::string name = {};  // "" for nodes that say nothing
  std::int64_t nodes = 0;
  std::int64_t timed = 0;  // of these, that have a time
  // From the first start to the last end of its nodes, those of the host, too.
  Nanoseconds start = {}, end = {};
  Nanoseconds host = {}, compute = {}, communication = {}, memory = {};  // summed
  KnownAmount work = {}, bytes = {};

  Nanoseconds device() const { return compute + communication + memory; }
};

// Steps in their order, layers in that of their names with numbers as numbers ("h.2" before "h.10"), nodes
// without a layer last; phases by the device's time, then the host's, then work, the most first. Empty where
// no node says anything.
std::vector<GroupRow> group_rows(const Timeline& timeline, Grouping grouping);
void add_group_rows(std::vector<GroupRow>& rows, const std::vector<GroupRow>& others, Grouping grouping);

}  // namespace nadi::inline traces
