// The best placement and partition of one setting (plan_space.h).
//
//   SettingSearch search(question, estimator);
//   const SettingAnswer answer = search.run({.setting = setting, .nodes = nodes}, {});
//   if (answer.candidate) ...
//
// Tables of stage times become problems of partition_problem.h, which minimise the estimator's iteration(). With
// several virtual stages, the layers of a stage are spread evenly over its chunks (and where orders of stages are
// few, spread_search.h has the proof), or, where all partitions are few (plan_space.h), each is tried
// (interleaved_search.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/partition_search.h"
#include "nadi/plan/placement_orders.h"
#include "nadi/plan/plan_estimate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_space.h"

namespace nadi::inline predict {

struct SettingRequest {
  PlanSetting setting = {};
  std::vector<std::int32_t> nodes = {};  // by kind: those that may be used
  std::optional<Bytes> memory = {};      // on every device, besides what it has
  PartitionEffort effort = {};
  // The kinds of stages in a few orders alone, all where they are few: fast, near the best, no bound for
  // others.
  bool few_orders = false;
  // Called with every candidate that is evaluated.
  std::function<void(const PlanCandidate&)> every = {};
};

struct SettingAnswer {
  std::optional<PlanCandidate> candidate = {};  // nullopt means none that fits is better than asked
  std::int64_t nanoseconds = kNeverEnds;
  std::int64_t lower_bound = kNeverEnds;  // nanoseconds; kNeverEnds: nothing fits
  std::int64_t evaluated = 0;
  std::int64_t work = 0;   // as PartitionAnswer has it
  bool all_orders = true;  // of kinds of stages were looked at; else `lower_bound` is of some placements only
  bool placed = false;     // there are nodes for it
  bool has_room = false;   // some partition fits in memory
};

class SettingSearch {
 public:
  // Both must outlive this.
  SettingSearch(const PlanQuestion& question, PlanEstimator& estimator);

  SettingAnswer run(const SettingRequest& request);

  // The least memory of the fullest device with which a partition exists, on some placement; nullopt means none
  // does. With several virtual stages no plan has less.
  std::optional<Bytes> least_memory(const SettingRequest& request);
  // What stages may need, by any number of layers, in ascending order; empty with several virtual stages.
  std::vector<Bytes> memory_sizes(const SettingRequest& request);

  // A candidate that fits in memory as nearly as can be; nullopt means there are not nodes enough. Its partition
  // leaves the fullest stage as little beyond its memory as any other does, on some placement.
  std::optional<PlanCandidate> smallest(const SettingRequest& request);

 private:
  struct Placed;
  Placed place(const SettingRequest& request);
  void fill(Placed& placed, const SettingRequest& request, std::span<const std::int32_t> order);
  void fill_chunks(Placed& placed, const PlanTables& tables, std::size_t stage, std::size_t make);
  void add_embedding(Placed& placed) const;
  bool try_all(PartitionAnswer& best, const SettingRequest& request, const Placed& placed);
  void search_orders(PartitionAnswer& best, const SettingRequest& request, const Placed& placed);
  void search_few_orders(PartitionAnswer& best, const SettingRequest& request, Placed& placed);
  // Moves layers from chunk to chunk.
  void improve(PartitionAnswer& best, const SettingRequest& request, const Placed& placed);
  void minimise_time(PartitionProblem& problem, const SettingRequest& request, const Placed& placed);
  // Nanoseconds; kNeverEnds: it does not fit. Layers by stage or by chunk.
  std::int64_t time_of(const SettingRequest& request, const Placed& placed,
                       std::span<const std::int32_t> order, std::span<const std::int64_t> layers);
  static PlanCandidate candidate(const SettingRequest& request, const Placed& placed,
                                 std::span<const std::int32_t> order, std::span<const std::int64_t> layers);
  // Valid until the estimator or this is asked for other ones.
  const PlanTables& tables_of(const SettingRequest& request, const StageMakes& makes,
                              std::span<const std::int32_t> order);

  const PlanQuestion& question_;
  PlanEstimator& estimator_;
  const PlanTables* tables_ =
      nullptr;                       // of `order_`, as long as it is about one setting; nullptr means of none
  std::vector<std::int32_t> order_;  // that was asked for last
};

// The partition that a question leaves no choice of, by virtual stage; empty means any.
std::vector<std::int64_t> given_partition(const PlanQuestion& question, const Plan& plan);

}  // namespace nadi::inline predict
