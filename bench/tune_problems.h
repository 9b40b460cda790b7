// The test problems of tune_regret, as tune_problems.py has them.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "nadi/sampling/search_space.h"

namespace nadi {

struct TuneProblem {
  std::string_view name;
  SearchSpace space;
  std::function<double(std::span<const double>)> function;
  double minimum = 0;
  double noise = 0;  // standard deviation of what is added to each observation
  std::function<bool(std::span<const double>)> fails = {};  // a trial there has no value; empty: none fails
};

const std::vector<TuneProblem>& tune_problems();

}  // namespace nadi
