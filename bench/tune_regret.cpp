// Regret of our samplers on test problems; tune_regret.py runs it beside Optuna.
//
//   tune_regret regret branin 0 100 100 auto    the regret of each seed from 0 to 100 after 100 trials, one
//                                              per line
//   tune_regret failures edge_plan 0 30 60 auto  the same, and the share of the later trials that failed
//   tune_regret regret branin 0 30 100 auto 8  with 8 workers
//   tune_regret time kernel 10000 auto         milliseconds of a suggestion after so many random trials
//   tune_regret values branin                  the function at the points of standard input, one per line
#include <algorithm>
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
  if (problem.fails && problem.fails(point)) {
    history.trials.push_back({.number = number, .outcome = TrialOutcome::kFailed, .point = std::move(point)});
    return;
  }
  double value = problem.function(point);
  if (problem.noise > 0)
    value += problem.noise * CountedRandom(seed, number, "noise of observations").normal();
  history.trials.push_back(
      {.number = number, .outcome = TrialOutcome::kComplete, .point = std::move(point), .values = {value}});
}

// With several workers a trial ends, in the order of numbers, when so many run.
TrialHistory run_trials(const TuneProblem& problem, std::uint64_t seed, std::int64_t trials,
                        const std::string& name, std::int64_t workers) {
  const auto sampler = make_sampler({.name = name == "default" ? "auto" : name, .seed = seed}, problem.space);
  TrialHistory history;
  TrialHistory running;
  for (std::int64_t number = 0; number < trials; ++number) {
    TrialHistory seen = history;
    seen.trials.insert(seen.trials.end(), running.trials.begin(), running.trials.end());
    auto point = sampler->suggest(seen, number);
    if (!point) break;
    running.trials.push_back(
        {.number = number, .outcome = TrialOutcome::kRunning, .point = std::move(*point)});
    while (static_cast<std::int64_t>(running.trials.size()) >= (number + 1 < trials ? workers : 1)) {
      ObservedTrial first = running.trials.front();
      running.trials.erase(running.trials.begin());
      add_trial(problem, seed, first.number, std::move(first.point), history);
      if (running.trials.empty()) break;
    }
  }
  return history;
}

// Judges the true value of the best observed trial; infinite when every trial failed.
double regret(const TuneProblem& problem, const TrialHistory& history) {
  const std::vector<std::size_t> best = best_trials(history);
  if (best.empty()) return std::numeric_limits<double>::infinity();
  return problem.function(history.trials[best.front()].point) - problem.minimum;
}

// The share of the second half of the trials that failed.
double late_failures(const TrialHistory& history) {
  const std::size_t half = history.trials.size() / 2;
  const auto failed =
      std::count_if(history.trials.begin() + static_cast<std::ptrdiff_t>(half), history.trials.end(),
                    [](const ObservedTrial& trial) { return trial.outcome == TrialOutcome::kFailed; });
  return static_cast<double>(failed) / static_cast<double>(history.trials.size() - half);
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
  if ((command == "regret" || command == "failures") && (arguments.size() == 6 || arguments.size() == 7)) {
    const std::int64_t workers = arguments.size() == 7 ? std::stoll(arguments[6]) : 1;
    const TuneProblem& problem = problem_of(arguments[1]);
    for (std::uint64_t seed = std::stoull(arguments[2]); seed <= std::stoull(arguments[3]); ++seed) {
      const TrialHistory history = run_trials(problem, seed, std::stoll(arguments[4]), arguments[5], workers);
      std::printf("%.17g", regret(problem, history));
      if (command == "failures") std::printf(" %.3f", late_failures(history));
      std::printf("\n");
      std::fflush(stdout);
    }
  } else if (command == "time" && arguments.size() == 4) {
    time_suggestions(problem_of(arguments[1]), std::stoll(arguments[2]), arguments[3]);
  } else if (command == "values" && arguments.size() == 2) {
    print_values(problem_of(arguments[1]));
  } else {
    std::fputs(
        "usage: tune_regret regret|failures PROBLEM FIRST_SEED LAST_SEED TRIALS SAMPLER [WORKERS] | time "
        "PROBLEM "
        "TRIALS SAMPLER "
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
