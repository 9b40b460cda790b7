// UTF-8, character by character.
//
//   require_utf8(text);                        // once, at the edge; what follows relies on it
//   for (const char* at = begin; at != end;) {
//     const char32_t character = next_character(at);
//     ...
//   }
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nadi::inline files {

// Offset of the first byte that begins no well-formed character, or npos. Surrogates, overlong forms and
// numbers beyond U+10FFFF are not well-formed.
std::size_t find_invalid_utf8(std::string_view text);

// Error (input) with that offset.
void require_utf8(std::string_view text);

inline bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}

// The character that begins at `at`, which moves behind it. The text must be valid and must not end here.
inline char32_t next_character(const char*& at) {
  const auto byte = [&](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
  const char32_t first = byte(0);
  if (first < 0x80) {
    at += 1;
    return first;
  }
  if (first < 0xE0) {
    const char32_t character = (first & 0x1F) << 6 | (byte(1) & 0x3F);
    at += 2;
    return character;
  }
  if (first < 0xF0) {
    const char32_t character = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    at += 3;
    return character;
  }
  const char32_t character =
      (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  at += 4;
  return character;
}

void append_utf8(char32_t character, std::string& text);

// How many characters a valid text has.
std::size_t count_characters(std::string_view text);

}  // namespace nadi::inline files
