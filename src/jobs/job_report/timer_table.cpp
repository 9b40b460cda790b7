#include "nadi/job_report/timer_table.h"

#include <algorithm>
#include <map>

#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline jobs {
namespace {

// Sum and number of ranks, by stage.
struct StageSum {
  Nanoseconds sum = {};
  std::int64_t ranks = 0;

  std::optional<Nanoseconds> mean() const {
    return ranks == 0 ? std::nullopt : std::optional(Nanoseconds{sum.count() / ranks});
  }
};

struct StageSums {
  StageSum forward, backward, whole;
};

TimerRow row_of(const LoggedTimer& timer) {
  TimerRow row{.name = timer.name,
               .ranks = static_cast<std::int64_t>(timer.ranks.size()),
               .least = timer.least,
               .most = timer.most.value_or(Nanoseconds{})};
  if (timer.ranks.empty()) return row;
  const auto [fastest, slowest] = std::ranges::minmax_element(timer.ranks, {}, &LoggedRank::time);
  Nanoseconds sum;
  for (const LoggedRank& rank : timer.ranks) sum += rank.time;
  row.least = fastest->time;
  row.most = slowest->time;
  row.fastest = fastest->rank;
  row.slowest = slowest->rank;
  row.mean = Nanoseconds{sum.count() / row.ranks};
  return row;
}

}  // namespace

TimerTable timer_table(const LoggedIteration& iteration,
                       const std::function<std::optional<std::int64_t>(std::int64_t rank)>& stage_of) {
  TimerTable table;
  if (iteration.timers.empty()) return table;
  table.iteration = iteration.iteration;
  std::map<std::int64_t, StageSums> stages;
  for (const LoggedTimer& timer : iteration.timers) {
    table.rows.push_back(row_of(timer));
    StageSum StageSums::*const part = timer.name == "forward-compute"    ? &StageSums::forward
                                      : timer.name == "backward-compute" ? &StageSums::backward
                                      : timer.name == "forward-backward" ? &StageSums::whole
                                                                         : nullptr;
    for (const LoggedRank& rank : timer.ranks) {
      table.calls += static_cast<std::int64_t>(rank.starts.size());
      const std::optional<std::int64_t> stage = stage_of(rank.rank);
      if (part == nullptr || !stage) continue;
      StageSum& sum = stages[*stage].*part;
      sum.sum += rank.time;
      ++sum.ranks;
    }
  }
  for (const auto& [stage, sums] : stages) {
    TimerStage made{.stage = stage,
                    .ranks = std::max({sums.forward.ranks, sums.backward.ranks, sums.whole.ranks}),
                    .forward = sums.forward.mean(),
                    .backward = sums.backward.mean(),
                    .whole = sums.whole.mean()};
    if (made.forward && made.backward && made.whole && made.whole->count() > 0)
      made.waiting_share = 1 - static_cast<double>((*made.forward + *made.backward).count()) /
                                   static_cast<double>(made.whole->count());
    table.stages.push_back(made);
  }
  return table;
}

}  // namespace nadi::inline jobs
