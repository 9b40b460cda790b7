// Numbers as people list them: "0-3,7".
//
//   const NumberRanges ranks = parse_number_ranges("0-3,7", "--ranks");
//   ranks.contains(2)       // true
//   ranks.to_string()       // "0-3,7"
//
// No ranges at all mean every number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nadi::inline ground {

class NumberRanges {
 public:
  NumberRanges() = default;  // every number
  // Pairs of the first and the last number, in any order.
  explicit NumberRanges(std::vector<std::pair<std::int64_t, std::int64_t>> ranges);

  bool is_all() const { return ranges_.empty(); }
  bool contains(std::int64_t number) const;
  std::string to_string() const;  // "all" where there are none

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;  // apart from each other, ascending
};

// Error (usage), which names `what`, for a text that is no list of numbers from 0 on.
NumberRanges parse_number_ranges(std::string_view text, std::string_view what);

}  // namespace nadi::inline ground
