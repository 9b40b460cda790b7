#include "nadi/base/number_ranges.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline ground {
namespace {

std::optional<std::int64_t> number_from_0(std::string_view text) {
  std::int64_t value = 0;
  if (!read_number(text, value) || value < 0) return std::nullopt;
  return value;
}

}  // namespace

NumberRanges::NumberRanges(std::vector<std::pair<std::int64_t, std::int64_t>> ranges)
    : ranges_(std::move(ranges)) {
  std::ranges::sort(ranges_);
  std::size_t kept = 0;
  for (const auto& [first, last] : ranges_) {
    check(first <= last, "a range of numbers ends before it begins");
    if (kept > 0 && (ranges_[kept - 1].second == std::numeric_limits<std::int64_t>::max() ||
                     first <= ranges_[kept - 1].second + 1))
      ranges_[kept - 1].second = std::max(ranges_[kept - 1].second, last);
    else
      ranges_[kept++] = {first, last};
  }
  ranges_.resize(kept);
}

bool NumberRanges::contains(std::int64_t number) const {
  if (ranges_.empty()) return true;
  const auto after =
      std::ranges::upper_bound(ranges_, number, {}, &std::pair<std::int64_t, std::int64_t>::first);
  return after != ranges_.begin() && number <= std::prev(after)->second;
}

std::string NumberRanges::to_string() const {
  if (ranges_.empty()) return "all";
  std::string text;
  for (const auto& [first, last] : ranges_) {
    text += format("{}{}", text.empty() ? "" : ",", first);
    if (last > first) text += format("-{}", last);
  }
  return text;
}

NumberRanges parse_number_ranges(std::string_view text, std::string_view what) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    const std::size_t dash = std::min(word.find('-'), word.size());
    const auto first = number_from_0(word.substr(0, dash));
    const auto last = dash < word.size() ? number_from_0(word.substr(dash + 1)) : first;
    if (!first || !last || *first > *last)
      throw usage_error(format("{} does not take '{}'", what, text), "numbers and ranges, as in 0-3,7");
    ranges.emplace_back(*first, *last);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return NumberRanges(std::move(ranges));
}

}  // namespace nadi::inline ground
