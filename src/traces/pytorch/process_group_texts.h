// Reads the process groups in PyTorch's two traces; each has a JSON text of its own for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

// "distributedInfo" of a Kineto trace.
struct DistributedInfo {
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> world_size = {};
  std::vector<KinetoGroup> groups = {};
};

// Error (input) without a place, which the caller knows, when the text is not what PyTorch writes.
DistributedInfo read_distributed_info(std::string_view json);

// Groups as the node "## process_group:init ##" of a host trace has them: the values of its inputs, an array
// whose first element is a text that is JSON itself.
std::vector<KinetoGroup> read_group_values(std::string_view json);

}  // namespace nadi::inline traces
