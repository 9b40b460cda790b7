// For tests: gradients of a graph against central differences.
//
// The loss of a case is the sum over ranks and outputs y of <g, y> with random g, from which the backward
// pass starts. Every element of every parameter is moved by a small step both ways. The measure is, for each
// parameter of each rank, |analytic - numeric|_2 / |analytic|_2.
#pragma once

#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "nadi/reference/lockstep.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {

struct GradientCase {
  std::string_view name;
  void (*build)(Problem&);
  int ranks = 1;
  // The ranks compute one loss together, all of them the same: it counts once.
  bool replicated_loss = false;
};

std::vector<GradientCase> gradient_cases();
std::vector<GradientCase> expert_gradient_cases();
std::vector<GradientCase> collective_gradient_cases();

// Groups of `ranks` ranks that cases may name: "all"; with four ranks also "row" {0, 1}, {2, 3} and "column"
// {0, 2}, {1, 3}.
RankGroups groups_of(int ranks);

struct GradientCheckOptions {
  double step = 1e-5;
  double falsify = 0;  // multiplies the analytic gradients by 1 + this
};
// The largest and the smallest error of a parameter.
struct GradientError {
  double largest = 0;
  double smallest = std::numeric_limits<double>::infinity();
};
GradientError gradient_error(const GradientCase& gradient_case, const GradientCheckOptions& options = {});

// The ops of the case's forward passes.
std::set<OpKind> forward_ops(const GradientCase& gradient_case);

}  // namespace nadi::inline engines
