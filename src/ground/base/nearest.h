// Finds what the user probably meant: the hint of every "unknown ..." error.
//
//   throw Error{..., format("unknown link type '{}'", name), did_you_mean(name, kLinkTypes)};
//   hint: did you mean 'nvlink4'? known: ethernet, infiniband, nvlink3, nvlink4, pcie5
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nadi::inline ground {

// The first entry of `known` that begins with `wrong` ('gpt3' finds 'gpt3-175b'); failing that, the one with
// the smallest Damerau-Levenshtein distance (letters inserted, left out, replaced, or neighbours swapped),
// the first of several; nothing when more than a third of the letters differ. Upper and lower case are equal.
std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string_view> known);
std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string> known);

// "did you mean 'b'? known: a, b, c", or "known: a, b, c" when nothing is near. The list keeps its order and
// is cut after 20 entries: "... and 7 more".
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known);
std::string did_you_mean(std::string_view wrong, std::span<const std::string> known);

}  // namespace nadi::inline ground
