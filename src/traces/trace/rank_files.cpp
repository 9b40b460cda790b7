#include "nadi/trace/rank_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "nadi/trace/trace_node.h"

namespace nadi::inline traces {
namespace {

constexpr std::array<std::string_view, 5> kEndings{".zst", ".gz", ".et", ".json", ".jsonl"};
constexpr std::string_view kDigits = "0123456789";

// The name without endings that say what is in the file.
std::string_view without_endings(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : kEndings) {
      if (!name.ends_with(ending)) continue;
      name.remove_suffix(ending.size());
      again = true;
    }
  }
  return name;
}

bool ends_with_rank(std::string_view text) {
  if (text.size() < 4) return false;
  constexpr std::string_view kRank = "rank";
  return std::ranges::equal(text.substr(text.size() - 4), kRank,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

}  // namespace

RankFileName parse_rank_file_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const std::string_view stem = without_endings(name);
  RankFileName parsed{.run = path.string(), .rank = {}, .groups_file = {}};
  const std::size_t before = stem.find_last_not_of(kDigits);
  std::string_view prefix = stem;
  std::int64_t number = 0;
  const bool numbered =
      before != std::string_view::npos && before + 1 < stem.size() &&
      (stem[before] == '.' || stem[before] == '_' || ends_with_rank(stem.substr(0, before + 1)));
  if (numbered) {
    const std::string_view digits = stem.substr(before + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc{}) {
      parsed.rank = number;
      prefix = stem.substr(0, before + 1);
      parsed.run = (path.parent_path() / (std::string(prefix) + "#" + name.substr(stem.size()))).string();
      if (prefix.ends_with('.') || prefix.ends_with('_')) prefix.remove_suffix(1);
    }
  }
  parsed.groups_file = path.parent_path() / (std::string(prefix) + ".groups.json");
  return parsed;
}

std::optional<std::int64_t> rank_of(const GlobalMetadata& metadata) {
  const TraceAttribute* rank = metadata.attributes.find("rank");
  return rank != nullptr ? rank->integer() : std::nullopt;
}

}  // namespace nadi::inline traces
