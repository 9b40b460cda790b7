#include "nadi/input/json_text.h"

#include <cstdint>
#include <vector>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {

namespace {

constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20;
}

// What may follow the first byte of a character of several bytes in UTF-8 (RFC 3629): how many bytes, and the
// range of the first of them. The others are 80 to BF.
struct Utf8Tail {
  int bytes;  // 0 means no character begins so
  unsigned char low;
  unsigned char high;
};

constexpr Utf8Tail utf8_tail(unsigned char first) {
  if (first < 0xC2) return {0, 0, 0};
  if (first < 0xE0) return {1, 0x80, 0xBF};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};
  if (first < 0xF0) return {2, 0x80, 0xBF};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first < 0xF4) return {3, 0x80, 0xBF};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

// What a byte is called in a message.
std::string shown(char c) {
  if (c > 0x20 && c < 0x7F) return format("'{}'", c);
  return format("byte 0x{:02x}", static_cast<unsigned char>(c));
}

class Scanner {
 public:
  Scanner(std::string_view text, const JsonScanOptions& options) : text_(text), options_(options) {}

  JsonScan scan() {
    value();
    result_.at = at_;
    return std::move(result_);
  }

 private:
  enum class Expect { kValue, kFirstItem, kKey, kFirstKey, kAfterValue };

  bool at_end() const { return at_ == text_.size(); }
  bool fault(std::string reason) {
    result_.state = JsonScan::kFault;
    result_.reason = std::move(reason);
    return false;
  }
  // Each of these returns false where scanning stops.
  bool open() {
    result_.state = JsonScan::kOpen;
    return false;
  }

  void value() {
    Expect expect = Expect::kValue;
    while (true) {
      at_ = skip_json_space(text_, at_);
      if (at_end()) {
        open();
        return;
      }
      if (!step(expect)) return;
      if (expect == Expect::kAfterValue && in_object_.empty()) return;
    }
  }

  // Takes a token or a few.
  bool step(Expect& expect) {
    const char c = text_[at_];
    switch (expect) {
      case Expect::kFirstItem:
        if (c == ']') return close(expect);
        [[fallthrough]];
      case Expect::kValue:
        if (c == '{') return enter(expect, true);
        if (c == '[') return enter(expect, false);
        expect = Expect::kAfterValue;
        return scalar(c);
      case Expect::kFirstKey:
        if (c == '}') return close(expect);
        [[fallthrough]];
      case Expect::kKey:
        if (c != '"') return fault(format("expected a key in quotes, found {}", shown(c)));
        expect = Expect::kValue;
        return string() && colon();
      case Expect::kAfterValue:
        if (c == (in_object_.back() ? '}' : ']')) return close(expect);
        if (c != ',')
          return fault(format("expected ',' or '{}', found {}", in_object_.back() ? '}' : ']', shown(c)));
        ++at_;
        expect = in_object_.back() ? Expect::kKey : Expect::kValue;
        return true;
    }
    return false;
  }

  bool enter(Expect& expect, bool object) {
    ++at_;
    in_object_.push_back(object);
    expect = object ? Expect::kFirstKey : Expect::kFirstItem;
    return true;
  }

  bool close(Expect& expect) {
    ++at_;
    in_object_.pop_back();
    expect = Expect::kAfterValue;
    return true;
  }

  bool colon() {
    at_ = skip_json_space(text_, at_);
    if (at_end()) return open();
    if (text_[at_] != ':') return fault(format("expected ':' after a key, found {}", shown(text_[at_])));
    ++at_;
    return true;
  }

  bool scalar(char c) {
    if (c == '"') return string();
    if (c == 't') return word("true");
    if (c == 'f') return word("false");
    if (c == 'n') return word("null");
    if (c == '-' || is_digit(c)) return number();
    return fault(format("expected a value, found {}", shown(c)));
  }

  bool word(std::string_view word) {
    for (const char c : word) {
      if (at_end()) return open();
      if (text_[at_] != c) return fault(format("expected '{}'", word));
      ++at_;
    }
    return true;
  }

  bool digits() {
    if (at_end()) return open();
    if (!is_digit(text_[at_])) return fault(format("expected a digit, found {}", shown(text_[at_])));
    while (!at_end() && is_digit(text_[at_])) ++at_;
    return true;
  }

  bool number() {
    if (text_[at_] == '-') ++at_;
    if (!at_end() && text_[at_] == '0') {
      ++at_;
      if (!at_end() && is_digit(text_[at_])) return fault("a number begins with 0");
    } else if (!digits()) {
      return false;
    }
    if (!at_end() && text_[at_] == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (!at_end() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!at_end() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return false;
    }
    return !at_end() || options_.final || open();
  }

  bool string() {
    for (++at_; !at_end();) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c == '\\') {
        if (!escape()) return false;
      } else if (options_.any_characters) {
        ++at_;
      } else if (is_control(c)) {
        if (!options_.let_control_characters_pass)
          return fault(
              format("a string contains a raw control character (0x{:02x})", static_cast<unsigned char>(c)));
        ++result_.raw_control_characters;
        ++at_;
      } else if (static_cast<unsigned char>(c) < 0x80) {
        ++at_;
      } else if (!utf8()) {
        return false;
      }
    }
    return open();
  }

  bool utf8() {
    const Utf8Tail tail = utf8_tail(static_cast<unsigned char>(text_[at_]));
    if (tail.bytes == 0) return fault(format("not UTF-8: {}", shown(text_[at_])));
    ++at_;
    for (int i = 0; i < tail.bytes; ++i, ++at_) {
      if (at_end()) return open();
      const auto byte = static_cast<unsigned char>(text_[at_]);
      const bool good = i == 0 ? byte >= tail.low && byte <= tail.high : (byte & 0xC0) == 0x80;
      if (!good) return fault(format("not UTF-8: {} within a character", shown(text_[at_])));
    }
    return true;
  }

  // Four digits behind "\u"; at_ is at the first of them.
  bool hex(std::uint32_t& unit) {
    unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_end()) return open();
      const char c = text_[at_];
      const char lower = static_cast<char>(c | 0x20);
      if (!is_digit(c) && !(lower >= 'a' && lower <= 'f'))
        return fault(format("expected four hexadecimal digits after \\u, found {}", shown(c)));
      unit = unit * 16 + static_cast<std::uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    return true;
  }

  bool escape() {
    const std::size_t start = at_++;
    if (at_end()) return open();
    const char c = text_[at_];
    if (c != 'u') {
      if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos)
        return fault(format("\\ before {}, which JSON does not escape", shown(c)));
      ++at_;
      return true;
    }
    ++at_;
    std::uint32_t unit = 0;
    if (!hex(unit)) return false;
    if (unit < 0xD800 || unit > 0xDFFF || options_.any_characters) return true;
    // The halves of a character beyond 16 bits come in pairs.
    std::uint32_t second = 0;
    if (unit < 0xDC00) {
      for (const char wanted : {'\\', 'u'}) {
        if (at_end()) return open();
        if (text_[at_] != wanted) return half_character(start);
        ++at_;
      }
      if (!hex(second)) return false;
    }
    return (second >= 0xDC00 && second <= 0xDFFF) || half_character(start);
  }

  bool half_character(std::size_t start) {
    at_ = start;
    return fault("\\u with one half of a surrogate pair");
  }

  std::string_view text_;
  JsonScanOptions options_;
  std::size_t at_ = 0;
  std::vector<bool> in_object_;  // of each open bracket: is it of an object
  JsonScan result_;
};

// The byte behind the string whose first quote is at `at`, or text.size().
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return text.size();
}

}  // namespace

JsonScan scan_json_value(std::string_view text, const JsonScanOptions& options) {
  return Scanner(text, options).scan();
}

bool is_json(std::string_view text, const JsonScanOptions& options) {
  const JsonScan scan = scan_json_value(text, options);
  return scan.state == JsonScan::kWhole && skip_json_space(text, scan.at) == text.size();
}

std::optional<std::size_t> skip_json_container(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return std::nullopt;
}

void blank_control_characters(char* text, std::size_t size) {
  const std::string_view whole(text, size);
  for (std::size_t at = 0; at < size;) {
    if (text[at] != '"') {
      ++at;
      continue;
    }
    const std::size_t end = skip_string(whole, at);
    for (; at < end; ++at)
      if (is_control(text[at])) text[at] = ' ';
  }
}

std::size_t skip_json_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at;
}

}  // namespace nadi::inline ground
