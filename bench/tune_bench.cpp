// What a trial costs us, beside the command that it runs: a study with many trials is made, and a tuner runs
// some more of a command that does nothing. Prints the milliseconds of ours for each trial: asking the
// sampler, writing the study, the log, starting and ending the process; the time between the start of the
// process and its end is not ours.
//   tune_bench [TRIALS_BEFORE] [TRIALS_MORE]       10000 and 100 where not given
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nadi/base/temporary_folder.h"
#include "nadi/study/study_storage.h"
#include "nadi/tune/tuner.h"

namespace {

using namespace nadi;

class Quiet : public TunerListener {
 public:
  void on_start(std::int64_t, const std::string&, int) override {}
  void on_end(const StudyTrial&, std::span<const StudyTrial>, int) override {}
  void on_note(const std::string&) override {}
};

TuneStudy study_for_bench(const std::string& sampler, std::int64_t trials) {
  TuneStudy tune;
  for (const char* text :
       {"a=0.0..1.0", "b=0.0..1.0", "c=1e-5..1e-1:log", "d=0..100", "e=1,2,4,8,16", "f=x,y,z"})
    tune.space.add(parameter_of_text(text));
  tune.trial.command.words = {"/bin/true", "{{a}}", "{{b}}", "{{c}}", "{{d}}", "{{e}}", "{{f}}"};
  tune.trial.metrics = {metric_of_text("runtime")};
  tune.sampler.name = sampler;
  tune.trials = trials;
  return tune;
}

double milliseconds_of_ours(const std::string& sampler, std::int64_t before, std::int64_t more) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "bench.db";
  const TuneStudy tune = study_for_bench(sampler, before + more);
  {
    const SpacePoints points(tune.space);
    const SearchSpace search = points.search_space();
    const auto storage = open_study_storage(path, {.mode = StorageMode::kCreate});
    const StudyId study = storage->create_study({.name = "bench", .directions = directions_of(tune)});
    std::vector<NewTrial> trials;
    for (std::int64_t i = 0; i < before; ++i) {
      std::vector<double> units;
      for (std::size_t p = 0; p < search.size(); ++p)
        units.push_back(std::fmod(static_cast<double>(i + 1) * std::sqrt(static_cast<double>(p) + 2), 1));
      const std::vector<double> point = search.point_at(units);
      trials.push_back({.parameters = points.trial_parameters(point),
                        .state = TrialState::kComplete,
                        .values = {(point[0] - 0.3) * (point[0] - 0.3) + point[1]}});
    }
    storage->create_trials(study, trials);
  }
  Quiet listener;
  const TunerOptions options{.storage = path, .study = "bench", .trials_folder = folder.path() / "trials"};
  const TunerSummary summary = Tuner(tune, options).run(listener);
  return 1e3 * summary.our_seconds / static_cast<double>(summary.begun);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t before = argc > 1 ? std::atoll(argv[1]) : 10'000;
  const std::int64_t more = argc > 2 ? std::atoll(argv[2]) : 100;
  for (const char* sampler : {"random", "quasi-random", "auto"})
    std::printf("%-8s %6.2f ms of ours for a trial, after %lld trials\n", sampler,
                milliseconds_of_ours(sampler, before, more), static_cast<long long>(before));
  return 0;
}
