// A grid: every point of a finite space, in an order that a seed shuffles, so that a study that ends early
// has seen all of it evenly. Continuous parameters have to be given a step.
#include <fmt/format.h>

#include <numeric>

#include "nadi/base/error.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/samplers.h"

namespace nadi::inline tuning {
namespace {

constexpr std::size_t kLargestGridListed = 1'000'000;

class GridSampler final : public TrialSampler {
 public:
  GridSampler(const SamplerSettings& settings, SearchSpace space) : space_(std::move(space)) {
    for (const SearchParameter& parameter : space_.parameters) {
      if (!parameter.count())
        throw usage_error(
            fmt::format("a grid needs a step for the continuous parameter '{}'", parameter.name),
            "give a step, or take another sampler");
    }
    auto points = enumerate_points(space_, kLargestGridListed);
    if (!points)
      throw usage_error("the grid has more than 1,000,000 points",
                        "use fewer values, or take another sampler");
    if (points->empty())
      throw Error{ErrorKind::kInfeasible,
                  {},
                  "no point of the grid is allowed",
                  "relax what must hold among parameters"};
    points_ = std::move(*points);
    CountedRandom random(settings.seed, 0, "grid");
    for (std::size_t i = points_.size(); i > 1; --i)
      std::swap(points_[i - 1],
                points_[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }

  // From the place of the number on, so that workers that do not see each other's newest trials seldom meet.
  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    const TriedPoints tried(history);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::vector<double>& point = points_[(static_cast<std::size_t>(number) + i) % points_.size()];
      if (!tried.contains(point)) return point;
    }
    return std::nullopt;
  }

 private:
  SearchSpace space_;
  std::vector<std::vector<double>> points_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_grid_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<GridSampler>(settings, std::move(space));
}

}  // namespace nadi::inline tuning
