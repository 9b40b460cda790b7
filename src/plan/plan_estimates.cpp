#include "nadi/plan/plan_estimates.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <tuple>

namespace nadi {
namespace {

// Plans with another one have no graph in common.
auto shape_of(const PlanCandidate& candidate) {
  return std::tuple(candidate.plan.tp, candidate.plan.cp, candidate.plan.sequence_parallel,
                    candidate.recompute.granularity, candidate.recompute.method, candidate.recompute.layers);
}

}  // namespace

std::vector<PlanEstimate> estimates_of(const PlanQuestion& question, std::span<const PlanCandidate> plans,
                                       int threads) {
  using PlanShape = decltype(shape_of(plans[0]));
  std::map<PlanShape, std::vector<std::size_t>> by_shape;
  for (std::size_t i = 0; i < plans.size(); ++i) by_shape[shape_of(plans[i])].push_back(i);
  std::vector<const std::vector<std::size_t>*> shapes;
  for (const auto& [shape, list] : by_shape) shapes.push_back(&list);
  // The long ones first, so that threads end at about the same time.
  std::ranges::stable_sort(shapes, std::ranges::greater{}, [](const auto* list) { return list->size(); });

  std::vector<PlanEstimate> estimates(plans.size());
  const auto used = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1,
                                            std::max<std::size_t>(shapes.size(), 1));
  std::vector<std::exception_ptr> errors(used);
  std::atomic<std::size_t> next = 0;
  const auto work = [&](std::size_t thread) {
    try {
      PlanEstimator estimator(question);
      for (std::size_t s = next++; s < shapes.size(); s = next++)
        for (const std::size_t plan : *shapes[s]) estimates[plan] = estimator.of(plans[plan]);
    } catch (...) {
      errors[thread] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < used; ++i) others.emplace_back(work, i);
    work(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return estimates;
}

}  // namespace nadi
