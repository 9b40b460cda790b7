#include "nadi/base/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

constexpr std::size_t kListedEntries = 20;
constexpr std::size_t kShortestPrefix = 2;  // one letter is too little to guess from

// ASCII only, whatever the locale.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

// Optimal string alignment: three rows of the usual table, since a swap looks two rows back.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

template <typename String>
std::optional<std::string> nearest_of(std::string_view wrong, std::span<const String> known) {
  const std::string lower_wrong = lower_case(wrong);
  const String* best = nullptr;
  std::size_t best_distance = 0;
  const String* prefixed = nullptr;
  for (const String& entry : known) {
    const std::string lower = lower_case(entry);
    if (prefixed == nullptr && wrong.size() >= kShortestPrefix && lower.starts_with(lower_wrong))
      prefixed = &entry;
    const std::size_t shorter = std::min(lower.size(), lower_wrong.size());
    const std::size_t longer = std::max(lower.size(), lower_wrong.size());
    const std::size_t limit = (longer + 2) / 3;
    // The difference in length is a lower bound; it also keeps a huge `wrong` from costing time. Something
    // must remain in common: 'a' is not near 'b'.
    if (longer - shorter > limit) continue;
    const std::size_t edits = distance(lower_wrong, lower);
    if (edits > limit || edits >= longer) continue;
    if (best == nullptr || edits < best_distance) {
      best = &entry;
      best_distance = edits;
    }
  }
  const bool same_but_for_case = best != nullptr && best_distance == 0;
  if (prefixed != nullptr && !same_but_for_case) best = prefixed;
  if (best == nullptr) return std::nullopt;
  return std::string(*best);
}

template <typename String>
std::string did_you_mean_of(std::string_view wrong, std::span<const String> known) {
  std::string text;
  if (const auto guess = nearest_of(wrong, known)) text = format("did you mean '{}'? ", *guess);
  if (known.empty()) return text;
  text += "known: ";
  for (std::size_t i = 0; i < std::min(known.size(), kListedEntries); ++i) {
    if (i > 0) text += ", ";
    text += known[i];
  }
  if (known.size() > kListedEntries) text += format(", ... and {} more", known.size() - kListedEntries);
  return text;
}

}  // namespace

std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string_view> known) {
  return nearest_of(wrong, known);
}

std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string> known) {
  return nearest_of(wrong, known);
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known) {
  return did_you_mean_of(wrong, known);
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> known) {
  return did_you_mean_of(wrong, known);
}

}  // namespace nadi::inline ground
