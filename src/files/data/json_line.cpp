// Recursive descent over one line. Strings, nearly all of the bytes, are searched eight bytes at a time for
// what ends or interrupts them; a string without escapes is a view of the line and is never copied.

#include "nadi/data/json_line.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

constexpr int kDeepest = 200;  // as base/json.h

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

constexpr std::uint64_t repeated(char byte) {
  return kOnes * static_cast<unsigned char>(byte);
}

// A high bit for each byte that is zero. Bytes above a zero one may be marked, too: only the lowest counts.
constexpr std::uint64_t zero_bytes(std::uint64_t eight) {
  return (eight - kOnes) & ~eight & kHighBits;
}

// The first quote, backslash or control character at or after `from`, or the end.
std::size_t find_string_end(std::string_view line, std::size_t from) {
  for (std::uint64_t eight = 0; line.size() - from >= sizeof eight; from += sizeof eight) {
    std::memcpy(&eight, line.data() + from, sizeof eight);
    // Control characters are those below 0x20: the only ones whose three high bits are all zero.
    const std::uint64_t found = zero_bytes(eight ^ repeated('"')) | zero_bytes(eight ^ repeated('\\')) |
                                zero_bytes(eight & repeated('\xE0'));
    if (found != 0) return from + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  }
  for (; from < line.size(); ++from) {
    const char byte = line[from];
    if (byte == '"' || byte == '\\' || static_cast<unsigned char>(byte) < 0x20) return from;
  }
  return from;
}
static_assert(std::endian::native == std::endian::little, "the lowest byte is the first one");

bool is_high_surrogate(char32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low_surrogate(char32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

}  // namespace

JsonLineParser::JsonLineParser(std::vector<std::string> keys)
    : keys_(std::move(keys)), texts_(keys_.size()), found_(keys_.size()) {}

std::span<const JsonText> JsonLineParser::parse(std::string_view line, const Place& place) {
  line_ = line;
  at_ = 0;
  place_ = place;
  // Unescaping makes nothing longer, so views into this string stay valid while it grows.
  unescaped_.clear();
  unescaped_.reserve(line.size());
  std::fill(found_.begin(), found_.end(), false);
  for (JsonText& text : texts_) text.pieces.clear();

  if (const std::size_t at = find_invalid_utf8(line); at != std::string_view::npos)
    throw error_at(at, format("not UTF-8: byte 0x{:02X}", static_cast<unsigned char>(line[at])));
  skip_space();
  if (at_ == line_.size()) throw error_at(0, "an empty line", "each line is a JSON object");
  if (peek() != '{') throw unexpected("a JSON object");
  parse_object();
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (!found_[i])
      throw error_at(0, format("key '{}' is missing", keys_[i]), "name the keys that have the text");
  return texts_;
}

Error JsonLineParser::error_at(std::size_t at, std::string message, std::string hint) const {
  Place place = place_;
  place.column = static_cast<std::int64_t>(count_characters(line_.substr(0, at))) + 1;
  return input_error(std::move(place), std::move(message), std::move(hint));
}

Error JsonLineParser::unexpected(std::string_view wanted) const {
  if (at_ == line_.size()) return error_at(at_, format("the line ends where {} is expected", wanted));
  const auto byte = static_cast<unsigned char>(line_[at_]);
  if (byte < 0x20 || byte >= 0x7F)
    return error_at(at_, format("byte 0x{:02X} where {} is expected", byte, wanted));
  return error_at(at_, format("'{}' where {} is expected", line_[at_], wanted));
}

void JsonLineParser::skip_space() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
}

void JsonLineParser::expect(char wanted, std::string_view name) {
  skip_space();
  if (peek() != wanted) throw unexpected(name);
  ++at_;
}

void JsonLineParser::parse_object() {
  ++at_;  // {
  skip_space();
  if (peek() == '}') {
    ++at_;
  } else {
    for (char next = ','; next == ',';) {
      skip_space();
      const std::size_t key_at = at_;
      if (peek() != '"') throw unexpected("a key");
      const std::string_view key = read_string();
      expect(':', "':'");
      skip_space();
      read_member(key, key_at);
      skip_space();
      next = peek();
      if (next != ',' && next != '}') throw unexpected("',' or '}'");
      ++at_;
    }
  }
  skip_space();
  if (at_ != line_.size()) throw unexpected("the end of the line");
}

void JsonLineParser::read_member(std::string_view key, std::size_t key_at) {
  const auto wanted = std::ranges::find(keys_, key);
  if (wanted == keys_.end()) return skip_value(1);
  const auto index = static_cast<std::size_t>(wanted - keys_.begin());
  if (found_[index]) throw error_at(key_at, format("key '{}' is given twice", key));
  found_[index] = true;
  read_text(texts_[index], key);
}

void JsonLineParser::read_text(JsonText& text, std::string_view key) {
  text.is_list = peek() == '[';
  if (peek() == '"') {
    text.pieces.push_back(read_string());
    return;
  }
  if (!text.is_list) throw unexpected(format("a string, the value of '{}',", key));
  ++at_;
  skip_space();
  if (peek() == ']') {
    ++at_;
    return;
  }
  for (char next = ','; next == ',';) {
    skip_space();
    if (peek() != '"') throw unexpected(format("a string, an element of '{}',", key));
    text.pieces.push_back(read_string());
    skip_space();
    next = peek();
    if (next != ',' && next != ']') throw unexpected("',' or ']'");
    ++at_;
  }
}

std::string_view JsonLineParser::read_string() {
  const std::size_t begin = ++at_;  // "
  at_ = find_string_end(line_, at_);
  if (peek() == '"') return line_.substr(begin, at_++ - begin);
  const std::size_t copy_begin = unescaped_.size();
  std::size_t plain = begin;
  for (;;) {
    unescaped_ += line_.substr(plain, at_ - plain);
    if (peek() == '"') break;
    if (at_ == line_.size()) throw error_at(begin - 1, "the string that begins here does not end");
    if (peek() != '\\')
      throw error_at(at_, format("byte 0x{:02X} in a string", static_cast<unsigned char>(peek())),
                     "control characters are written with a backslash");
    read_escape();
    plain = at_;
    at_ = find_string_end(line_, at_);
  }
  ++at_;  // "
  return std::string_view(unescaped_).substr(copy_begin);
}

void JsonLineParser::read_escape() {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t begin = at_++;  // backslash
  const char letter = peek();
  if (const std::size_t known = kLetters.find(letter);
      at_ < line_.size() && known != std::string_view::npos) {
    unescaped_ += kMeanings[known];
    ++at_;
    return;
  }
  if (letter != 'u') throw error_at(begin, "an unknown escape in a string");
  ++at_;
  char32_t character = read_hex4();
  if (is_high_surrogate(character) && line_.substr(at_).starts_with("\\u")) {
    at_ += 2;
    const char32_t low = read_hex4();
    if (!is_low_surrogate(low)) throw error_at(begin, "half of a surrogate pair");
    character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
  } else if (is_high_surrogate(character) || is_low_surrogate(character)) {
    throw error_at(begin, "half of a surrogate pair");
  }
  append_utf8(character, unescaped_);
}

char32_t JsonLineParser::read_hex4() {
  char32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char byte = peek();
    if (is_digit(byte))
      value = value * 16 + static_cast<char32_t>(byte - '0');
    else if ((byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F'))
      value = value * 16 + static_cast<char32_t>((byte | 0x20) - 'a' + 10);
    else
      throw unexpected("a hexadecimal digit");
  }
  return value;
}

void JsonLineParser::skip_value(int depth) {
  if (depth > kDeepest) throw error_at(at_, format("nested deeper than {} levels", kDeepest));
  const std::size_t unescaped = unescaped_.size();
  switch (peek()) {
    case '"':
      read_string();
      unescaped_.resize(unescaped);
      return;
    case '{':
      return skip_members(depth);
    case '[':
      return skip_elements(depth);
    default:
      for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity", "-Infinity"})
        if (skip_word(word)) return;
      return skip_number();
  }
}

void JsonLineParser::skip_members(int depth) {
  ++at_;  // {
  skip_space();
  if (peek() == '}') {
    ++at_;
    return;
  }
  for (char next = ','; next == ',';) {
    skip_space();
    if (peek() != '"') throw unexpected("a key");
    skip_value(depth);
    expect(':', "':'");
    skip_space();
    skip_value(depth + 1);
    skip_space();
    next = peek();
    if (next != ',' && next != '}') throw unexpected("',' or '}'");
    ++at_;
  }
}

void JsonLineParser::skip_elements(int depth) {
  ++at_;  // [
  skip_space();
  if (peek() == ']') {
    ++at_;
    return;
  }
  for (char next = ','; next == ',';) {
    skip_space();
    skip_value(depth + 1);
    skip_space();
    next = peek();
    if (next != ',' && next != ']') throw unexpected("',' or ']'");
    ++at_;
  }
}

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
void JsonLineParser::skip_number() {
  const std::size_t begin = at_;
  if (peek() == '-') ++at_;
  if (peek() == '0') {
    ++at_;
  } else if (!skip_digits()) {
    if (at_ == begin) throw unexpected("a value");
    throw unexpected("a digit");
  }
  if (peek() == '.') {
    ++at_;
    if (!skip_digits()) throw unexpected("a digit");
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    if (!skip_digits()) throw unexpected("a digit");
  }
}

bool JsonLineParser::skip_digits() {
  const std::size_t begin = at_;
  while (is_digit(peek())) ++at_;
  return at_ != begin;
}

bool JsonLineParser::skip_word(std::string_view word) {
  if (!line_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

}  // namespace nadi::inline files
