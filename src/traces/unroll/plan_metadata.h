// A plan as attributes of a trace's metadata, with these keys: world_size, tp, cp, dp, pp,
// sequence_parallel, partition, and of training schedule, virtual_stages and zero.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nadi::inline describe {
struct Plan;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

enum class PlannedStep : std::uint8_t { kTraining, kOther };

// `partition`: resolved_partition() of the model.
std::vector<std::pair<std::string, std::string>> plan_metadata(const Plan& plan,
                                                               std::span<const std::int64_t> partition,
                                                               PlannedStep step);

}  // namespace nadi::inline traces
