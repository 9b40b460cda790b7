// What is taken when no sampler is named: the Gaussian process, and Parzen estimators once a study is long.
// In a space with choices both take turns, by the number of the trial, and learn from each other's trials:
// the process finds the best numbers under the choices that it knows, and may stay with them; estimators look
// at choices one by one, and come to others.
//
// A proposal of the process costs tens of milliseconds, and of a long history it sees a part alone; Parzen
// estimators see all of it at a tenth of the cost. The change is by the number of trials that have ended, not
// by a clock: any worker makes the same proposal.
#include <algorithm>

#include "nadi/sampling/samplers.h"

namespace nadi::inline tuning {
namespace {

// Trials that have ended. docs/performance.md has what both cost.
constexpr std::int64_t kLongStudy = 1000;

class AutoSampler final : public TrialSampler {
 public:
  AutoSampler(const SamplerSettings& settings, SearchSpace space)
      : turns_(std::any_of(space.parameters.begin(), space.parameters.end(),
                           [](const SearchParameter& parameter) {
                             return parameter.kind == ParameterKind::kChoice && !parameter.single();
                           })),
        long_(make_tpe_sampler(settings, space)),
        usual_(make_gaussian_process_sampler(settings, std::move(space))) {}

  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    const auto ended =
        std::count_if(history.trials.begin(), history.trials.end(),
                      [](const ObservedTrial& trial) { return trial.outcome != TrialOutcome::kRunning; });
    const bool estimators = ended >= kLongStudy || (turns_ && number % 2 == 1);
    return (estimators ? long_ : usual_)->suggest(history, number);
  }

 private:
  bool turns_;
  std::unique_ptr<TrialSampler> long_;
  std::unique_ptr<TrialSampler> usual_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_auto_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<AutoSampler>(settings, std::move(space));
}

}  // namespace nadi::inline tuning
