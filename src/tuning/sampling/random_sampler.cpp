#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/samplers.h"

namespace nadi::inline tuning {
namespace {

class RandomSampler final : public TrialSampler {
 public:
  RandomSampler(const SamplerSettings& settings, SearchSpace space)
      : seed_(settings.seed), space_(std::move(space)), pool_(space_) {}

  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    CountedRandom random(seed_, number, "random");
    return pool_.draw(random, TriedPoints(history));
  }

 private:
  std::uint64_t seed_;
  SearchSpace space_;
  PointPool pool_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_random_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<RandomSampler>(settings, std::move(space));
}

}  // namespace nadi::inline tuning
