// Numbers for the process groups that the traces of several ranks name, and the file that lists them.
//
//   GroupNumbers groups;                                      // one for all ranks of a job
//   std::uint32_t number = groups.number("7", {0, 2});        // `pg_name` of a collective in that group
//   write_atomically("out/run.groups.json", groups.to_json(), overwrite);
//
// PyTorch names its groups by counting, the same on every rank of a group, or by a hash. A name that is a
// number above 0 is kept as far as it is free; others get the lowest free numbers, in the order in which they
// are asked for. Two groups of the same ranks stay two. 0 stands for all ranks: the default group.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nadi::inline traces {

class GroupNumbers {
 public:
  // `members` in their order in the group; empty means not known.
  std::uint32_t number(std::string_view name, const std::vector<std::int64_t>& members);

  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  // By number; empty where members are not known.
  const std::map<std::uint32_t, std::vector<std::int64_t>>& members() const { return members_; }
  // {"1": [0, 1], ...}: a line per group, without those whose members are not known.
  std::string to_json() const;

 private:
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::vector<std::int64_t>> members_;  // by number
};

}  // namespace nadi::inline traces
