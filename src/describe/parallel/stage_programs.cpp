#include "nadi/parallel/stage_programs.h"

#include <algorithm>

namespace nadi::inline describe {

StagePrograms::StagePrograms(const ModelConfig& config, const StepRequest& request, const Plan& plan)
    : config_(config),
      request_(request),
      plan_(plan),
      built_(static_cast<std::size_t>(std::max<std::int64_t>(plan.pp, 1))),
      all_(built_.size(), nullptr) {}

const Program& StagePrograms::of(std::int64_t stage) const {
  const auto at = static_cast<std::size_t>(stage);
  if (built_[at] == nullptr) {
    built_[at] = std::make_unique<const Program>(build_step(config_, request_, plan_, stage));
    all_[at] = built_[at].get();
  }
  return *built_[at];
}

std::span<const Program* const> StagePrograms::all() const {
  for (std::int64_t stage = 0; stage < plan_.pp; ++stage) of(stage);
  return all_;
}

void StagePrograms::keep_only(std::int64_t stage) {
  for (std::size_t at = 0; at < built_.size(); ++at) {
    if (static_cast<std::int64_t>(at) == stage) continue;
    built_[at] = nullptr;
    all_[at] = nullptr;
  }
}

}  // namespace nadi::inline describe
