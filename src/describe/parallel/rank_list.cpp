#include "nadi/parallel/rank_list.h"

#include <algorithm>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/base/units.h"

namespace nadi::inline describe {
namespace {

constexpr std::size_t kMostShownRanges = 4;
constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;  // of a list

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  if (!read_number(text, value) || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string> ranges_of(std::span<const Rank> ranks) {
  std::vector<std::string> ranges;
  for (std::size_t first = 0, end = 0; first < ranks.size(); first = end) {
    end = first + 1;
    while (end < ranks.size() && to_number(ranks[end]) == to_number(ranks[end - 1]) + 1) ++end;
    ranges.push_back(end - first == 1 ? format("{}", to_number(ranks[first]))
                                      : format("{}-{}", to_number(ranks[first]), to_number(ranks[end - 1])));
  }
  return ranges;
}

}  // namespace

std::vector<Rank> parse_ranks(std::string_view flag, std::string_view text, std::int64_t world_size) {
  std::vector<Rank> ranks;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = number(part.substr(0, dash));
    const auto last = dash < part.size() ? number(part.substr(dash + 1)) : first;
    if (!first || !last || *last < *first)
      throw usage_error(format("{} takes ranks and ranges of them, and '{}' is neither", flag, part),
                        "0,8-15 are nine ranks");
    if (*last >= world_size)
      throw usage_error(format("{} names rank {}, and there are {}", flag, *last, world_size),
                        format("ranks are 0 to {}", world_size - 1));
    if (*last - *first >= kMostRanks - static_cast<std::int64_t>(ranks.size()))
      throw usage_error(format("{} names more than {} ranks", flag, with_thousands(kMostRanks)));
    for (std::int64_t rank = *first; rank <= *last; ++rank)
      ranks.push_back(Rank{static_cast<std::int32_t>(rank)});
    at = end + 1;
  }
  std::ranges::sort(ranks);
  if (const auto twice = std::ranges::adjacent_find(ranks); twice != ranks.end())
    throw usage_error(format("{} names rank {} twice", flag, to_number(*twice)));
  return ranks;
}

std::string as_ranges(std::span<const Rank> ranks) {
  std::string text;
  for (const std::string& range : ranges_of(ranks)) text += (text.empty() ? "" : ",") + range;
  return text;
}

std::string as_short_ranges(std::span<const Rank> ranks) {
  const std::vector<std::string> ranges = ranges_of(ranks);
  if (ranges.size() > kMostShownRanges) return format("{}, {}, ..., {}", ranges[0], ranges[1], ranges.back());
  std::string text;
  for (const std::string& range : ranges) text += (text.empty() ? "" : ", ") + range;
  return text;
}

}  // namespace nadi::inline describe
