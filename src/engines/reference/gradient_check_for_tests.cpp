#include "nadi/reference/gradient_check_for_tests.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "nadi/base/format.h"
#include "nadi/graph/gradient.h"

namespace nadi::inline engines {
namespace {

// One rank's part of a case: its graph with the backward pass, and where the forward pass ends.
struct RankPart {
  explicit RankPart(const GradientCase& c, int rank) : problem(rank, c.ranks) {
    c.build(problem);
    forward_end = problem.builder.graph().ops().size();
    BackwardOptions options;
    for (std::size_t i = 0; i < problem.outputs().size(); ++i) {
      const Shape shape = problem.builder.shape(problem.outputs()[i]);
      const std::string name = format("seed.{}", i);
      const auto stream = static_cast<std::uint64_t>(c.replicated_loss ? 0 : rank);
      seeds.push_back(normal_values(name, shape.elements(), stream));
      options.seeds.emplace_back(problem.outputs()[i], problem.input(name, shape, seeds.back()));
    }
    add_backward(problem.builder, options);
    initialize(problem.builder.graph(), problem.store, 1);
  }

  const Graph& graph() const { return problem.builder.graph(); }
  Doubles gradient_of(const Tensor& parameter) const {
    const Doubles* gradient = problem.store.find(parameter.name + ".grad");
    return gradient == nullptr ? Doubles(parameter.shape.elements(), 0.0) : *gradient;
  }

  Problem problem;
  std::size_t forward_end = 0;
  std::vector<Doubles> seeds;
};

class Check {
 public:
  explicit Check(const GradientCase& c) : case_(c), groups_(groups_of(c.ranks)) {
    for (int rank = 0; rank < c.ranks; ++rank) parts_.emplace_back(c, rank);
  }

  GradientError measure(const GradientCheckOptions& options) {
    std::vector<LockstepRank> ranks;
    for (RankPart& part : parts_) ranks.push_back({&part.problem.store, {{.graph = &part.graph()}}});
    run_lockstep(ranks, groups_);
    GradientError result;
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      for (const TensorId id : parts_[rank].graph().tensors_with(Role::kParameter)) {
        const Tensor& parameter = parts_[rank].graph().tensor(id);
        Doubles analytic = parts_[rank].gradient_of(parameter);
        for (double& value : analytic) value *= 1 + options.falsify;
        const bool shared = parts_[rank].problem.shared().contains(id);
        const double error =
            distance(analytic, numeric(parameter, shared ? -1 : static_cast<int>(rank), options.step));
        result.largest = std::max(result.largest, error);
        result.smallest = std::min(result.smallest, error);
      }
    return result;
  }

 private:
  static double distance(const Doubles& analytic, const Doubles& numeric) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      difference += (analytic[i] - numeric[i]) * (analytic[i] - numeric[i]);
      norm += analytic[i] * analytic[i];
    }
    const double error = norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;  // std::max would lose it
  }

  // Moves the parameter on one rank, or on all for rank -1.
  Doubles numeric(const Tensor& parameter, int rank, double step) {
    const Doubles original = parts_[std::max(rank, 0)].problem.store.get(parameter.name);
    const auto loss_with = [&](const Doubles& values) {
      for (RankPart& part : parts_)
        if (rank < 0 || part.problem.rank() == rank) part.problem.store.set(parameter.name, values);
      return loss();
    };
    Doubles gradient(original.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      Doubles up = original, down = original;
      up[i] += step;
      down[i] -= step;
      gradient[i] = (loss_with(up) - loss_with(down)) / (2 * step);
    }
    loss_with(original);
    return gradient;
  }

  double loss() {
    std::vector<ReferenceSlot> slots(parts_.size());
    std::vector<LockstepRank> ranks;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      ranks.push_back(
          {&parts_[i].problem.store,
           {{.graph = &parts_[i].graph(), .ops = {0, parts_[i].forward_end}, .slot = &slots[i]}}});
    run_lockstep(ranks, groups_);
    double sum = 0;
    for (std::size_t rank = 0; rank < (case_.replicated_loss ? 1 : parts_.size()); ++rank) {
      const RankPart& part = parts_[rank];
      for (std::size_t i = 0; i < part.seeds.size(); ++i) {
        const Doubles& y = part.problem.value(slots[rank], part.problem.outputs()[i]);
        sum = std::inner_product(y.begin(), y.end(), part.seeds[i].begin(), sum);
      }
    }
    return sum;
  }

  const GradientCase& case_;
  const RankGroups groups_;
  std::deque<RankPart> parts_;  // by rank; a deque since parts do not move
};

}  // namespace

RankGroups groups_of(int ranks) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  RankGroups groups{{"all", {all}}};
  if (ranks == 4) {
    groups["row"] = {{0, 1}, {2, 3}};
    groups["column"] = {{0, 2}, {1, 3}};
  }
  return groups;
}

GradientError gradient_error(const GradientCase& gradient_case, const GradientCheckOptions& options) {
  return Check(gradient_case).measure(options);
}

std::set<OpKind> forward_ops(const GradientCase& gradient_case) {
  std::set<OpKind> kinds;
  for (int rank = 0; rank < gradient_case.ranks; ++rank) {
    Problem problem(rank, gradient_case.ranks);
    gradient_case.build(problem);
    for (const Op& op : problem.builder.graph().ops()) kinds.insert(op.kind);
  }
  return kinds;
}

}  // namespace nadi::inline engines
