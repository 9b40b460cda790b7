// Verdicts of a pruner for a program that feeds it: tests/pruner_optuna_test.py compares them with Optuna's.
//
//   pruner_tool '{"name": "median"}' minimize
//
// Reads lines, and answers each of the first two kinds by one:
//   report TRIAL STEP VALUE          1: the trial is to be stopped, 0 means it goes on
//   bracket TRIAL                    hyperband: the bracket of the trial
//   end TRIAL complete|pruned|failed
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "nadi/base/error.h"
#include "nadi/sampling/pruner.h"
#include "nadi/sampling/pruners.h"

namespace nadi::inline tuning {
namespace {

int serve(const std::string& text, const std::string& direction) {
  const PrunerSettings settings = parse_pruner_settings(text, "settings");
  const auto pruner = make_pruner(settings);
  TrialHistory history{.maximize = {direction == "maximize"}};
  std::map<std::int64_t, std::size_t> places;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    std::int64_t number = 0;
    words >> command >> number;
    if (!places.contains(number)) {
      places[number] = history.trials.size();
      history.trials.push_back({.number = number});
    }
    ObservedTrial& trial = history.trials[places[number]];
    if (command == "report") {
      std::int64_t step = 0;
      std::string value;
      words >> step >> value;
      trial.intermediate.emplace_back(step, std::stod(value));
      std::puts(pruner->stop(history, places[number]) ? "1" : "0");
    } else if (command == "bracket") {
      const auto bracket = hyperband_bracket(settings, history, number);
      std::printf("%d\n", bracket ? static_cast<int>(*bracket) : -1);
    } else if (command == "end") {
      std::string outcome;
      words >> outcome;
      trial.outcome = outcome == "complete" ? TrialOutcome::kComplete
                      : outcome == "pruned" ? TrialOutcome::kPruned
                                            : TrialOutcome::kFailed;
    } else {
      throw usage_error("unknown command " + command);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace nadi::inline tuning

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: pruner_tool SETTINGS minimize|maximize\n", stderr);
    return 2;
  }
  try {
    return nadi::serve(words[1], words[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
