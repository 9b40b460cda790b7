// Classes of bytes, without a locale.
#pragma once

namespace nadi {

constexpr bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

// A byte of a UTF-8 character that is not its first.
constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace nadi
