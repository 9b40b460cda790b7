// The process groups of a run, from the file that `nadi trace` and `nadi convert` put next to the traces:
// {"1": [0, 1], ...}. Group 0, which all ranks are in, is not in the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline traces {

// By name of the group: its members.
using GroupMembers = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

// Error (input) with the place in the file.
GroupMembers read_group_members(const std::filesystem::path& path);

// "0", "" and no name at all are the group of all ranks.
inline bool is_group_of_all(std::string_view name) {
  return name.empty() || name == "0";
}

}  // namespace nadi::inline traces
