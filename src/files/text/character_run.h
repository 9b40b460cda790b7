// Runs of characters of one kind: what splitters are made of.
#pragma once

#include <cstdint>

#include "nadi/text/unicode.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {

// The classes that splitting looks at. A character with none of them is "other": [^\s\p{L}\p{N}].
inline constexpr std::uint8_t kSplitClasses = kLetter | kNumber | kSpace;

inline std::uint8_t split_class(const CharacterTable& table, char32_t character) {
  return table[character] & kSplitClasses;
}

// Behind the characters from `at` on whose split_class() is `wanted`.
inline const char* run_end(const CharacterTable& table, std::uint8_t wanted, const char* at,
                           const char* end) {
  while (at != end) {
    const char* behind = at;
    if (split_class(table, next_character(behind)) != wanted) break;
    at = behind;
  }
  return at;
}

// White space from `at` on, which there is at least one of, as \s+(?!\S)|\s+ takes it: all of it at the end
// of the text; otherwise all but the last character, which is left to the piece that follows; or a single
// one.
inline const char* space_end(const CharacterTable& table, const char* at, const char* end) {
  const char* last = at;
  const char* stop = at;
  while (stop != end) {
    const char* behind = stop;
    if (split_class(table, next_character(behind)) != kSpace) break;
    last = stop;
    stop = behind;
  }
  return stop == end || last == at ? stop : last;
}

}  // namespace nadi::inline files
