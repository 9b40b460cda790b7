#include "nadi/plan/stage_room.h"

#include <algorithm>

namespace nadi::inline predict {
namespace {

// Memory of the smallest device of a make; nullopt means one of them is not known.
std::optional<Bytes> room_of_make(const PlanQuestion& question, const StageMake& make,
                                  const std::optional<Bytes>& memory) {
  std::optional<Bytes> least = memory;
  for (const NodeRun& run : make.nodes) {
    const NodeSpec& kind = question.cluster.kinds[static_cast<std::size_t>(run.kind)];
    const Bytes size = question.cluster.devices[static_cast<std::size_t>(kind.device)].memory;
    if (size.count() == 0) return memory;
    const Bytes share{
        static_cast<std::int64_t>(static_cast<double>(size.count()) * question.limits.memory_share)};
    if (!least || share < *least) least = share;
  }
  return least;
}

// Memory of one stage by its layers, each worked out when it is asked for.
class MemoryOfStage {
 public:
  MemoryOfStage(const PlanQuestion& question, PlanEstimator& estimator, const StageRoomRequest& request,
                std::int64_t stage)
      : estimator_(estimator),
        candidate_(candidate_of(request.setting, {})),
        stage_(stage),
        layers_(question.config.layers),
        given_(request.given) {
    if (candidate_.plan.virtual_stages == 1)
      by_layers_ = estimator.memory_by_layers(candidate_, stage);
    else
      known_.resize(static_cast<std::size_t>(layers_) + 1);
  }

  std::int64_t most_within(const std::optional<Bytes>& room) {
    if (!room) return layers_;
    const Plan& plan = candidate_.plan;
    if (plan.virtual_stages > 1 && !given_.empty()) {
      std::int64_t sum = 0;
      for (std::int64_t c = stage_; c < std::ssize(given_); c += plan.pp)
        sum += given_[static_cast<std::size_t>(c)];
      return of(sum) <= *room ? sum : -1;
    }
    if (plan.virtual_stages == 1) {
      std::int64_t most = layers_;
      while (most >= 0 && by_layers_[static_cast<std::size_t>(most)] > *room) --most;
      return most;
    }
    // More layers take more memory.
    std::int64_t fits = -1, too_many = layers_ + 1;
    while (too_many - fits > 1) {
      const std::int64_t middle = (fits + too_many) / 2;
      (of(middle) <= *room ? fits : too_many) = middle;
    }
    return fits;
  }

 private:
  Bytes of(std::int64_t layers) {
    std::optional<Bytes>& memory = known_[static_cast<std::size_t>(layers)];
    if (!memory) {
      Plan& plan = candidate_.plan;
      plan.partition.assign(given_.begin(), given_.end());
      if (given_.empty())
        plan.partition = spread_over_chunks(
            std::vector<std::int64_t>(static_cast<std::size_t>(plan.pp), layers), plan.virtual_stages);
      memory = estimator_.stage_memory(candidate_, stage_);
    }
    return *memory;
  }

  PlanEstimator& estimator_;
  PlanCandidate candidate_;
  const std::int64_t stage_, layers_;
  const std::span<const std::int64_t> given_;
  std::span<const Bytes> by_layers_;
  std::vector<std::optional<Bytes>> known_;
};

}  // namespace

bool StageRoom::holds(std::int64_t layers) const {
  std::int64_t sum = 0;
  for (std::size_t first = 0; first < most_layers.size(); first += static_cast<std::size_t>(makes)) {
    const std::int64_t most =
        std::ranges::max(std::span(most_layers).subspan(first, static_cast<std::size_t>(makes)));
    if (most < 0) return false;
    sum += most;
  }
  return sum >= layers;
}

StageRoom stage_room(const PlanQuestion& question, PlanEstimator& estimator,
                     const StageRoomRequest& request) {
  StageRoom room{.makes = std::ssize(request.makes.makes)};
  std::vector<std::optional<Bytes>> sizes;
  for (const StageMake& make : request.makes.makes)
    sizes.push_back(room_of_make(question, make, request.memory));
  for (std::int64_t s = 0; s < request.setting.plan.pp; ++s) {
    MemoryOfStage memory(question, estimator, request, s);
    for (const std::optional<Bytes>& size : sizes) room.most_layers.push_back(memory.most_within(size));
  }
  return room;
}

}  // namespace nadi::inline predict
