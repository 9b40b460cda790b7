#include "nadi/terminal/escaped_text.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline show {
namespace {

// Bytes that the character beginning with `first` has; 1 where none begins so.
std::size_t wanted_bytes(unsigned char first) {
  if (first >= 0xF0 && first < 0xF8) return 4;
  if (first >= 0xE0) return first < 0xF0 ? 3 : 1;
  return first >= 0xC0 ? 2 : 1;
}

bool is_control(unsigned char byte) {
  return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
}

}  // namespace

std::string escaped_text(std::string_view bytes, std::string& half) {
  const std::string text = half + std::string(bytes);
  half.clear();
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (byte == '\r' && rest.size() == 1) {
      half = rest;  // the newline may come
      break;
    }
    if (byte == '\r' && rest[1] == '\n') {
      ++at;
      continue;
    }
    if (byte < 0x80) {
      shown += is_control(byte) ? format("\\x{:02x}", byte) : std::string(1, rest[0]);
      ++at;
      continue;
    }
    const std::size_t size = utf8_character(rest);
    if (size == 0 && rest.size() < wanted_bytes(byte)) {
      half = rest;
      break;
    }
    // U+0080 to U+009F are control characters, too.
    const bool control = size == 2 && byte == 0xC2 && static_cast<unsigned char>(rest[1]) < 0xA0;
    if (size == 0 || control) {
      for (std::size_t i = 0; i < std::max<std::size_t>(size, 1); ++i)
        shown += format("\\x{:02x}", static_cast<unsigned char>(rest[i]));
      at += std::max<std::size_t>(size, 1);
      continue;
    }
    shown += rest.substr(0, size);
    at += size;
  }
  return shown;
}

}  // namespace nadi::inline show
