// The search behind search_plans() and search_fleet(): settings in the order of their bounds, each with its
// best placement and partition, until no other can be among the best.
//
//   SearchCore core(question, options, keep);
//   const CoreAnswer answer = core.run({.nodes = nodes});
//
// Settings are worked on in batches. All of a batch know the best of the batches before it and nothing of
// each other, so the answer does not depend on how many threads there are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"
#include "nadi/plan/plan_space.h"
#include "nadi/plan/setting_search.h"
#include "nadi/plan/speed_bound.h"

namespace nadi::inline predict {

struct CoreRequest {
  std::vector<std::int32_t> nodes = {};         // by kind: those that may be used
  std::optional<RankedPlan> known = {};         // a plan on some of these nodes
  std::optional<double> dollars_per_hour = {};  // for all of them; nullopt means for those that a plan uses
  bool proves = true;                           // that nothing is better, as far as the effort goes
  bool all_nodes = false;  // plans that leave nodes out are of no interest: `known` is the best of those
  std::int64_t work = kNeverEnds;  // after that much (PartitionAnswer::work) it ends with what it has proven
};

struct CoreAnswer {
  std::vector<RankedPlan> plans;  // best first, as many as are kept; one per setting
  std::int64_t evaluated = 0;
  std::int64_t out_of_memory = 0;
  std::int64_t work = 0;
  double lower_bound = 0;  // of the objective
  bool stopped = false;
};

class SearchCore {
 public:
  // `keep`: how many plans. All must outlive this.
  SearchCore(const PlanQuestion& question, const SearchOptions& options, std::size_t keep);
  ~SearchCore();

  CoreAnswer run(const CoreRequest& request);

  // The one of all plans that do not fit in memory that misses least.
  std::optional<RankedPlan> nearest_in_memory(const CoreRequest& request);

 private:
  struct Task;
  struct Outcome;
  struct Worker;

  std::vector<Task> grids_of(const CoreRequest& request);
  void add_tasks(std::vector<Task>& tasks, const PlanSetting& setting, const CoreRequest& request);
  std::vector<Task> next_batch(std::vector<Task>& open, std::vector<Task>& grids, const CoreRequest& request,
                               double better_than);
  std::optional<double> price_of(std::span<const std::int32_t> nodes) const;
  double objective_of_time(const Task& task, std::int64_t nanoseconds) const;
  std::int64_t time_of_objective(const Task& task, double objective) const;
  std::int64_t time_limit(const Task& task) const;
  bool has_time_limit() const {
    return question_.limits.step_time || question_.limits.dollars_per_million_tokens;
  }
  // How thoroughly a task is searched.
  struct Care {
    PartitionEffort effort = {};
    bool few_orders = false;
  };
  Outcome solve(Worker& worker, const Task& task, double better_than, const Care& care) const;
  Outcome solve_memory(Worker& worker, const Task& task, double better_than, SettingRequest request) const;
  std::vector<Outcome> solve_batch(std::span<const Task> tasks, double better_than, const Care& care);
  void take(CoreAnswer& answer, Outcome& outcome);
  // With so much work at most.
  void prove(CoreAnswer& answer, std::vector<Task>& tasks, std::int64_t work);
  double worst_kept(const CoreAnswer& answer) const;
  bool stops() const { return options_.stop && options_.stop(); }

  const PlanQuestion& question_;
  const SearchOptions& options_;
  const std::size_t keep_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<SpeedBound> speeds_;
  std::int64_t tasks_made_ = 0;
};

}  // namespace nadi::inline predict
