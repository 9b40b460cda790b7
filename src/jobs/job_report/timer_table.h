// The timers of one iteration over all ranks, and what they say about each pipeline stage.
//
//   const TimerTable table = timer_table(iteration, stage_of);
//   table.rows[0]                   // forward-backward: least, mean, most, and of which ranks
//   table.stages[3].forward         // mean over its ranks
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline files {
struct LoggedIteration;
}  // namespace nadi::inline files

namespace nadi::inline jobs {

struct TimerRow {
  std::string name = {};
  std::int64_t ranks = 0;  // that the log lists; 0 means it has only the least or the most of all
  std::optional<Nanoseconds> least = {}, mean = {};
  Nanoseconds most = {};
  std::optional<std::int64_t> fastest = {}, slowest = {};  // ranks
};

struct TimerStage {
  std::int64_t stage = 0;
  std::int64_t ranks = 0;
  // For an iteration, all micro-batches together; mean over the ranks of the stage.
  std::optional<Nanoseconds> forward = {}, backward = {}, whole = {};
  // What of forward-backward is neither: waiting for other stages, messages.
  std::optional<double> waiting_share = {};
};

struct TimerTable {
  std::int64_t iteration = 0;  // 0 means there are no timers
  std::int64_t calls = 0;      // starts and ends of calls that the log lists
  std::vector<TimerRow> rows = {};
  std::vector<TimerStage> stages = {};  // where the log lists ranks and the number of stages is known
};

TimerTable timer_table(const LoggedIteration& iteration,
                       const std::function<std::optional<std::int64_t>(std::int64_t rank)>& stage_of);

}  // namespace nadi::inline jobs
