// What PyTorch's traces say about process groups, which both of them do in JSON of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/pytorch/kineto_trace.h"

namespace nadi {

// "distributedInfo" of a Kineto trace.
struct DistributedInfo {
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> world_size = {};
  std::vector<KinetoGroup> groups = {};
};

// Error (input) without a place, for whoever knows where the text stands, when it is not what PyTorch writes.
DistributedInfo read_distributed_info(std::string_view json);

// Groups as the node "## process_group:init ##" of a host trace has them: the values of its inputs, an array
// whose first element is a text that is JSON itself.
std::vector<KinetoGroup> read_group_values(std::string_view json);

}  // namespace nadi
