#include "nadi/check/group_members.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"

namespace nadi::inline traces {

GroupMembers read_group_members(const std::filesystem::path& path) {
  const JsonDocument document = read_json(path);
  GroupMembers groups;
  for (const auto& [name, value] : document.root().items()) {
    const bool is_number = !name.empty() && name.size() < 10 &&
                           std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || is_group_of_all(name))
      throw error_at_key(value, format("process group '{}' is no whole number above 0", name),
                         "simulators take groups by number; 0 are all ranks");
    std::vector<std::int64_t>& members = groups[std::string(name)];
    for (const JsonValue& member : value.elements()) {
      const std::int64_t rank = member.as_int64();
      if (rank < 0) throw error_at(member, format("rank {} is below 0", rank));
      if (std::ranges::find(members, rank) != members.end())
        throw error_at(member, format("rank {} is in group {} twice", rank, name));
      members.push_back(rank);
    }
    if (members.empty()) throw error_at(value, format("process group {} has no members", name));
  }
  return groups;
}

}  // namespace nadi::inline traces
