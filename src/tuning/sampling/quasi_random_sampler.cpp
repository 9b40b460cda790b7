// Trial `number` is point `number` of a scrambled Halton sequence (halton.h): workers need not see each
// other's trials. A point that is not allowed or was tried gives way to the nearest that is.
#include "nadi/sampling/halton.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/samplers.h"

namespace nadi::inline tuning {
namespace {

class QuasiRandomSampler final : public TrialSampler {
 public:
  QuasiRandomSampler(const SamplerSettings& settings, SearchSpace space)
      : seed_(settings.seed), space_(std::move(space)), pool_(space_) {}

  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    CountedRandom random(seed_, number, "quasi-random");
    std::vector<double> units(space_.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
      units[i] =
          static_cast<std::int64_t>(i) < kHaltonDimensions
              ? scrambled_halton(seed_, static_cast<std::uint64_t>(number), static_cast<std::int64_t>(i))
              : random.uniform();
    }
    return pool_.fresh(space_.point_at(units), random, TriedPoints(history));
  }

 private:
  std::uint64_t seed_;
  SearchSpace space_;
  PointPool pool_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_quasi_random_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<QuasiRandomSampler>(settings, std::move(space));
}

}  // namespace nadi::inline tuning
