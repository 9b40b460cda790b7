// Fuzz target of the journals of studies (scripts/fuzz.sh).
//
// Any lines must give either studies or an Error (input) that names the line. What was taken must be whole:
// every parameter has a value of its distribution, every trial its place, and what a distribution is written
// as is read as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/study/journal_replay.h"
#include "nadi/study/worker_identity.h"

namespace nadi::inline tuning {
namespace {

void check_studies(const JournalReplay& replay) {
  for (const JournalStudy& study : replay.studies()) {
    for (std::size_t i = 0; i < study.trials.size(); ++i) {
      const StudyTrial& trial = study.trials[i];
      check(trial.number == static_cast<std::int64_t>(i), "a trial has a wrong number");
      check(replay.find_trial(trial.id) == &trial, "a trial is not where its id says");
      check(fault_of_values(trial, study.study).empty(), "a trial has wrong values");
      for (const TrialParameter& parameter : trial.parameters) {
        parameter.external();
        const ParameterDistribution again =
            distribution_from_json(distribution_to_json(*parameter.distribution), "again");
        check(same_distribution(again, *parameter.distribution),
              "a distribution changed on the way through its text");
      }
      for (const auto& [name, text] : trial.system_attributes) dead_worker(text, trial.number);
    }
  }
}

}  // namespace
}  // namespace nadi::inline tuning

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  nadi::JournalReplay replay("fuzz");
  std::int64_t number = 0;
  try {
    for (std::size_t newline; (newline = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(newline + 1))
      replay.apply(text.substr(0, newline), ++number);
  } catch (const nadi::Error& error) {
    nadi::check(error.kind() == nadi::ErrorKind::kInput && error.place().line == number,
                "an error without its line");
  }
  nadi::check_studies(replay);
  return 0;
}
