#include "nadi/text/utf8.h"

#include <cstdint>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

// Bytes of the well-formed character at the front of `text`, 0 when there is none. The ranges of the second
// byte are table 3-7 of the Unicode standard.
std::size_t well_formed_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const auto second_within = [&](unsigned char low, unsigned char high) {
    return text.size() > 1 && byte(1) >= low && byte(1) <= high;
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned char low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : 0xBF;
    return second_within(low, high) && continues(2) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const unsigned char low = first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xF4 ? 0x8F : 0xBF;
  return second_within(low, high) && continues(2) && continues(3) ? 4 : 0;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  while (at < text.size()) {
    if (std::uint64_t eight = 0; text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = well_formed_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

void require_utf8(std::string_view text) {
  const std::size_t at = find_invalid_utf8(text);
  if (at == std::string_view::npos) return;
  throw input_error(
      {.byte = static_cast<std::int64_t>(at)},
      format("the text is not UTF-8 here (byte 0x{:02x})", static_cast<unsigned char>(text[at])));
}

void append_utf8(char32_t character, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  } else {
    put(0xF0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3F));
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  }
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return count;
}

}  // namespace nadi::inline files
