#include "nadi/unroll/plan_metadata.h"

#include "nadi/base/format.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline traces {

std::vector<std::pair<std::string, std::string>> plan_metadata(const Plan& plan,
                                                               std::span<const std::int64_t> partition,
                                                               PlannedStep step) {
  std::string layers = "[";
  for (const std::int64_t count : partition) layers += format("{}{}", layers.size() > 1 ? "," : "", count);
  std::vector<std::pair<std::string, std::string>> metadata{
      {"world_size", format("{}", plan.world_size())},
      {"tp", format("{}", plan.tp)},
      {"cp", format("{}", plan.cp)},
      {"dp", format("{}", plan.dp)},
      {"pp", format("{}", plan.pp)},
      {"sequence_parallel", plan.sequence_parallel ? "true" : "false"},
      {"partition", layers + "]"}};
  if (step == PlannedStep::kOther) return metadata;
  metadata.emplace_back("schedule", to_string(plan.schedule));
  metadata.emplace_back("virtual_stages", format("{}", plan.virtual_stages));
  metadata.emplace_back("zero", format("{}", plan.zero_stage));
  return metadata;
}

}  // namespace nadi::inline traces
