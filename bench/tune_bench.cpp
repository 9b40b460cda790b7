// What a trial costs us, beside the command that it runs: a study with many trials is made, and a tuner runs
// some more of a command that does nothing. Prints the milliseconds of ours for each trial: asking the
// sampler, writing the study, the log, starting and ending the process; the time between the start of the
// process and its end is not ours.
//   tune_bench [TRIALS_BEFORE] [TRIALS_MORE] [SAMPLER]...      10000, 100, and three samplers where not given
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

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

struct BenchCase {
  std::string sampler;
  std::string file;  // its name says how the study is stored
  std::int64_t before = 0, more = 0;
};

double milliseconds_of_ours(const BenchCase& bench) {
  const auto& [sampler, file, before, more] = bench;
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / file;
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
  std::vector<std::string> samplers(argv + std::min(argc, 3), argv + argc);
  if (samplers.empty()) samplers = {"random", "quasi-random", "auto"};
  for (const std::string& sampler : samplers)
    for (const char* file : {"bench.db", "bench.journal"})
      std::printf("%-12s %-13s %6.2f ms of ours for a trial, after %lld trials\n", sampler.c_str(), file,
                  milliseconds_of_ours({.sampler = sampler, .file = file, .before = before, .more = more}),
                  static_cast<long long>(before));
  return 0;
}
