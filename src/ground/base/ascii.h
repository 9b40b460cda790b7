// Classes of bytes, without a locale.
#pragma once

#include <cstddef>
#include <string_view>

namespace nadi::inline ground {

constexpr bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

// A byte of a UTF-8 character that is not its first.
constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

constexpr char to_lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  return true;
}

}  // namespace nadi::inline ground
