#include "nadi/base/message_text.h"

#include <cstddef>
#include <cstdint>

#include "nadi/base/format.h"
#include "nadi/base/shorten.h"

namespace nadi::inline ground {

namespace {

// Whether the text starts with one of the control characters U+0080 to U+009F.
bool is_c1_control(std::string_view text) {
  return text.size() >= 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0;
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0xc2   ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t point = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3fu);
  }
  if (length == 2) return length;
  if (length == 3) return point < 0x800 || (point >= 0xd800 && point <= 0xdfff) ? 0 : length;
  return point < 0x10000 || point > 0x10ffff ? 0 : length;
}

std::string quote_for_message(std::string_view whole) {
  const std::string text_of_message = shorten_middle(whole);
  const std::string_view text = text_of_message;
  std::string out = "'";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    std::size_t length = 1;
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else if (byte >= 0x80 && !is_c1_control(text.substr(i)) &&
               (length = utf8_character(text.substr(i))) != 0) {
      out += text.substr(i, length);
    } else {
      out += format("\\x{:02x}", byte);
      length = 1;
    }
    i += length;
  }
  return out + "'";
}

}  // namespace nadi::inline ground
