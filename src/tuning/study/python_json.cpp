#include "nadi/study/python_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline tuning {
namespace {

constexpr int kDeepest = 200;
// Up to here, comparing with every key is faster than hashing.
constexpr std::size_t kFewMembers = 16;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads over a text; every function begins at its first character and ends behind its last one.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const { return at_; }
  bool at_end() const { return at_ == end_; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }

  void skip_spaces() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  void expect(char c, std::string_view what) {
    if (!take(c)) fail(format("expected {}", what));
  }

  [[noreturn]] void fail(const std::string& message) const {
    if (at_ == end_) throw PythonJsonError(message + ", found the end", at_);
    throw PythonJsonError(format("{}, found {}", message,
                                 quote_for_message(std::string_view(at_, std::min<std::size_t>(16, rest())))),
                          at_);
  }

  std::size_t rest() const { return static_cast<std::size_t>(end_ - at_); }

  std::string_view skip_value(int depth) {
    const char* const begin = at_;
    if (depth == kDeepest && (peek() == '{' || peek() == '['))
      throw PythonJsonError(format("nested deeper than {} levels", kDeepest), at_);
    switch (peek()) {
      case '{':
        ++at_;
        skip_spaces();
        if (!take('}')) {
          do {
            skip_spaces();
            skip_string();
            skip_spaces();
            expect(':', "':'");
            skip_spaces();
            skip_value(depth + 1);
            skip_spaces();
          } while (take(','));
          expect('}', "',' or '}'");
        }
        break;
      case '[':
        ++at_;
        skip_spaces();
        if (!take(']')) {
          do {
            skip_spaces();
            skip_value(depth + 1);
            skip_spaces();
          } while (take(','));
          expect(']', "',' or ']'");
        }
        break;
      case '"':
        skip_string();
        break;
      case 't':
        skip_word("true");
        break;
      case 'f':
        skip_word("false");
        break;
      case 'n':
        skip_word("null");
        break;
      case 'N':
        skip_word("NaN");
        break;
      case 'I':
        skip_word("Infinity");
        break;
      default:
        skip_number();
        break;
    }
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  void skip_string() {
    expect('"', "a string");
    while (at_ != end_ && *at_ != '"') {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x20) throw PythonJsonError("a control character in a string", at_);
      if (byte == '\\') {
        skip_escape();
      } else if (byte < 0x80) {
        ++at_;
      } else {
        const std::size_t length = utf8_character({at_, rest()});
        if (length == 0) throw PythonJsonError("bytes that are not UTF-8 in a string", at_);
        at_ += length;
      }
    }
    expect('"', "the end of the string");
  }

 private:
  void skip_word(std::string_view word) {
    if (rest() < word.size() || std::string_view(at_, word.size()) != word) fail("expected a value");
    at_ += word.size();
  }

  void skip_escape() {
    const char* const begin = at_++;
    if (at_ == end_) fail("expected an escape");
    if (*at_ == 'u') {
      ++at_;
      for (int i = 0; i < 4; ++i, ++at_) {
        if (at_ == end_ || hex_digit(*at_) < 0) throw PythonJsonError("a damaged \\u escape", begin);
      }
    } else if (std::string_view("\"\\/bfnrt").find(*at_) != std::string_view::npos) {
      ++at_;
    } else {
      throw PythonJsonError("an unknown escape in a string", begin);
    }
  }

  void skip_digits() {
    if (!is_digit(peek())) fail("expected a digit");
    while (is_digit(peek())) ++at_;
  }

  void skip_number() {
    const bool negative = take('-');
    if (negative && peek() == 'I') return skip_word("Infinity");
    if (!is_digit(peek())) fail(negative ? "expected a digit" : "expected a value");
    if (!take('0')) skip_digits();
    if (take('.')) skip_digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) take('-');
      skip_digits();
    }
  }

  const char* at_;
  const char* end_;
};

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

[[noreturn]] void wrong_type(std::string_view value, std::string_view wanted) {
  throw PythonJsonError(format("expected {}, found {}", wanted, quote_for_message(value)), value.data());
}

// One of the four digits of \uXXXX after the other; the escape was checked.
std::uint32_t escaped_unit(std::string_view text, std::size_t at) {
  std::uint32_t unit = 0;
  for (std::size_t i = 0; i < 4; ++i) unit = unit * 16 + static_cast<std::uint32_t>(hex_digit(text[at + i]));
  return unit;
}

void append_code_point(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// Decodes a string that was checked, with its quotes.
std::string decoded(std::string_view value) {
  const std::string_view text = value.substr(1, value.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      const std::size_t next = std::min(text.find('\\', i), text.size());
      out.append(text, i, next - i);
      i = next;
      continue;
    }
    const char escape = text[i + 1];
    if (escape != 'u') {
      constexpr std::string_view kLetters = "bfnrt";
      constexpr std::string_view kMeanings = "\b\f\n\r\t";
      const std::size_t which = kLetters.find(escape);
      out += which == std::string_view::npos ? escape : kMeanings[which];
      i += 2;
      continue;
    }
    std::uint32_t code = escaped_unit(text, i + 2);
    i += 6;
    if (is_high_surrogate(code) && text.substr(i, 2) == "\\u") {
      const std::uint32_t low = escaped_unit(text, i + 2);
      if (is_low_surrogate(low)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
    }
    if (code >= 0xD800 && code < 0xE000) {
      out += kReplacement;
    } else {
      append_code_point(code, out);
    }
  }
  return out;
}

}  // namespace

JsonType json_type(std::string_view value) {
  value = without_spaces(value);
  if (value.empty()) throw PythonJsonError("expected a value, found nothing", value.data());
  switch (value.front()) {
    case '{':
      return JsonType::kObject;
    case '[':
      return JsonType::kList;
    case '"':
      return JsonType::kString;
    case 't':
    case 'f':
      return JsonType::kBool;
    case 'n':
      return JsonType::kNull;
    default:
      return value.find_first_of(".eEIN") == std::string_view::npos ? JsonType::kInteger : JsonType::kFloat;
  }
}

std::string_view check_json(std::string_view text) {
  JsonCursor cursor(text);
  cursor.skip_spaces();
  const std::string_view value = cursor.skip_value(0);
  cursor.skip_spaces();
  if (!cursor.at_end()) cursor.fail("expected the end of the value");
  return value;
}

std::vector<JsonMember> json_members(std::string_view object) {
  std::vector<JsonMember> members;
  std::unordered_map<std::string, std::size_t> places;  // used once there are more than kFewMembers
  JsonCursor cursor(object);
  cursor.skip_spaces();
  cursor.expect('{', "an object");
  cursor.skip_spaces();
  if (!cursor.take('}')) {
    do {
      cursor.skip_spaces();
      const char* const begin = cursor.at();
      cursor.skip_string();
      std::string key = decoded({begin, static_cast<std::size_t>(cursor.at() - begin)});
      cursor.skip_spaces();
      cursor.expect(':', "':'");
      cursor.skip_spaces();
      const std::string_view value = cursor.skip_value(1);
      cursor.skip_spaces();
      std::size_t place = members.size();
      if (members.size() < kFewMembers) {
        for (std::size_t i = 0; i < members.size(); ++i) {
          if (members[i].key == key) place = i;
        }
      } else {
        if (places.empty()) {
          for (std::size_t i = 0; i < members.size(); ++i) places.emplace(members[i].key, i);
        }
        place = places.emplace(key, place).first->second;
      }
      if (place == members.size()) {
        members.push_back({std::move(key), value});
      } else {
        members[place].value = value;
      }
    } while (cursor.take(','));
    cursor.expect('}', "',' or '}'");
  }
  cursor.skip_spaces();
  if (!cursor.at_end()) cursor.fail("expected the end of the object");
  return members;
}

std::vector<std::string_view> json_elements(std::string_view list) {
  std::vector<std::string_view> elements;
  JsonCursor cursor(list);
  cursor.skip_spaces();
  cursor.expect('[', "a list");
  cursor.skip_spaces();
  if (!cursor.take(']')) {
    do {
      cursor.skip_spaces();
      elements.push_back(cursor.skip_value(1));
      cursor.skip_spaces();
    } while (cursor.take(','));
    cursor.expect(']', "',' or ']'");
  }
  cursor.skip_spaces();
  if (!cursor.at_end()) cursor.fail("expected the end of the list");
  return elements;
}

const JsonMember* find_member(const std::vector<JsonMember>& members, std::string_view key) {
  for (const JsonMember& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

bool json_bool(std::string_view value) {
  value = check_json(value);
  if (value == "true") return true;
  if (value == "false") return false;
  wrong_type(value, "true or false");
}

std::int64_t json_integer(std::string_view value) {
  value = check_json(value);
  const JsonType type = json_type(value);
  if (type == JsonType::kInteger) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{}) wrong_type(value, "an integer of at most 64 bits");
    return number;
  }
  if (type == JsonType::kFloat) {
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    const double number = json_number(value);
    if (number >= -kLimit && number < kLimit && number == std::trunc(number))
      return static_cast<std::int64_t>(number);
  }
  wrong_type(value, "an integer");
}

double json_number(std::string_view value) {
  value = check_json(value);
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  const JsonType type = json_type(value);
  if (type != JsonType::kInteger && type != JsonType::kFloat) wrong_type(value, "a number");
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  // Too large is infinite and too small is zero, as in Python; from_chars does not say which.
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(value).c_str(), nullptr);
  return number;
}

std::string json_string(std::string_view value) {
  value = check_json(value);
  if (json_type(value) != JsonType::kString) wrong_type(value, "a string");
  return decoded(value);
}

ParameterValue json_value(std::string_view value) {
  value = check_json(value);
  switch (json_type(value)) {
    case JsonType::kNull:
      return std::monostate{};
    case JsonType::kBool:
      return value == "true";
    case JsonType::kInteger: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error == std::errc{}) return number;
      return OtherJson{std::string(value)};
    }
    case JsonType::kFloat:
      return json_number(value);
    case JsonType::kString: {
      std::string text = decoded(value);
      return text;
    }
    case JsonType::kList:
    case JsonType::kObject:
      return OtherJson{std::string(value)};
  }
  unreachable();
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const std::size_t length = utf8_character(text.substr(i));
      if (length == 0) {
        out += kReplacement;
        ++i;
      } else {
        out.append(text, i, length);
        i += length;
      }
      continue;
    }
    ++i;
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += static_cast<char>(byte);
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      out += static_cast<char>(byte);
    }
  }
  out += '"';
}

void append_json_number(double number, std::string& out) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number > 0 ? "Infinity" : "-Infinity";
  } else {
    const std::size_t begin = out.size();
    fmt::format_to(std::back_inserter(out), "{}", number);
    if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
  }
}

}  // namespace nadi::inline tuning
