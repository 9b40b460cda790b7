// Regret of our samplers on test problems; tune_regret.py runs it beside Optuna.
//
//   tune_regret regret branin 0 100 100 auto    the regret of each seed from 0 to 100 after 100 trials, one
//   per line tune_regret time kernel 10000 auto          milliseconds of a suggestion after so many random
//   trials tune_regret values branin                   the function at the points of standard input, one per
//   line
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

#include "nadi/base/error.h"
#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/sampler.h"
#include "tune_problems.h"

namespace nadi {
namespace {

const TuneProblem& problem_of(const std::string& name) {
  for (const TuneProblem& problem : tune_problems())
    if (problem.name == name) return problem;
  throw usage_error("unknown problem " + name);
}

void add_trial(const TuneProblem& problem, std::uint64_t seed, std::int64_t number, std::vector<double> point,
               TrialHistory& history) {
  double value = problem.function(point);
  if (problem.noise > 0)
    value += problem.noise * CountedRandom(seed, number, "noise of observations").normal();
  history.trials.push_back(
      {.number = number, .outcome = TrialOutcome::kComplete, .point = std::move(point), .values = {value}});
}

double regret(const TuneProblem& problem, std::uint64_t seed, std::int64_t trials, const std::string& name) {
  const auto sampler = make_sampler({.name = name == "default" ? "auto" : name, .seed = seed}, problem.space);
  TrialHistory history;
  for (std::int64_t number = 0; number < trials; ++number) {
    auto point = sampler->suggest(history, number);
    if (!point) break;
    add_trial(problem, seed, number, std::move(*point), history);
  }
  return problem.function(history.trials[best_trials(history).front()].point) - problem.minimum;
}

void time_suggestions(const TuneProblem& problem, std::int64_t trials, const std::string& name) {
  TrialHistory history;
  const auto random = make_sampler({.name = "random", .seed = 1}, problem.space);
  for (std::int64_t number = 0; number < trials; ++number)
    add_trial(problem, 1, number, *random->suggest({}, number), history);
  const auto sampler = make_sampler({.name = name, .seed = 1}, problem.space);
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto point = sampler->suggest(history, trials + round);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    std::printf("%.3f\n", taken.count());
    if (point) add_trial(problem, 1, trials + round, *point, history);
  }
}

void print_values(const TuneProblem& problem) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::vector<double> point;
    for (std::string word; words >> word;)
      point.push_back(word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::stod(word));
    std::printf("%.17g\n", problem.function(point));
  }
}

int run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "regret" && arguments.size() == 6) {
    for (std::uint64_t seed = std::stoull(arguments[2]); seed <= std::stoull(arguments[3]); ++seed) {
      std::printf("%.17g\n", regret(problem_of(arguments[1]), seed, std::stoll(arguments[4]), arguments[5]));
      std::fflush(stdout);
    }
  } else if (command == "time" && arguments.size() == 4) {
    time_suggestions(problem_of(arguments[1]), std::stoll(arguments[2]), arguments[3]);
  } else if (command == "values" && arguments.size() == 2) {
    print_values(problem_of(arguments[1]));
  } else {
    std::fputs(
        "usage: tune_regret regret PROBLEM FIRST_SEED LAST_SEED TRIALS SAMPLER | time PROBLEM TRIALS SAMPLER "
        "| "
        "values PROBLEM\n",
        stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace nadi

int main(int count, char** words) {
  try {
    return nadi::run({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
