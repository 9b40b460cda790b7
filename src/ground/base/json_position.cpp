#include "nadi/base/json_position.h"

namespace nadi::inline ground {
namespace {

// Moves over a text that is known to be valid. Never past its end, whatever it holds.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte-order mark
    skip_space();
  }

  std::size_t at() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() { at_ = end_of(text_.find_first_not_of(" \t\r\n", at_)); }

  // The one character at hand (bracket, colon or comma) and the space after it.
  void skip_mark() {
    if (at_ < text_.size()) ++at_;
    skip_space();
  }

  void skip_string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = end_of(at_ + 1);
  }

  // A string, number, or literal, or the opening bracket of something larger.
  void skip_token() {
    if (peek() == '"') {
      skip_string();
    } else if (peek() == '{' || peek() == '[') {
      ++at_;
    } else {
      at_ = end_of(text_.find_first_of(",]} \t\r\n", at_));
    }
  }

  void skip_value() {
    int depth = 0;
    do {
      const char mark = peek();
      if (mark == '{' || mark == '[') ++depth;
      if (mark == '}' || mark == ']') --depth;
      if (mark == '"') {
        skip_string();
      } else if (mark == '{' || mark == '[' || mark == '}' || mark == ']' || mark == ',' || mark == ':') {
        ++at_;
      } else {
        at_ = end_of(text_.find_first_of(",:]} \t\r\n", at_));
      }
      skip_space();
    } while (depth > 0 && at_ < text_.size());
  }

 private:
  std::size_t end_of(std::size_t position) const { return position < text_.size() ? position : text_.size(); }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

JsonPosition find_json_position(std::string_view text, std::span<const std::size_t> path) {
  Walker walker(text);
  JsonPosition position;
  for (const std::size_t index : path) {
    const bool in_object = walker.peek() == '{';
    walker.skip_mark();
    for (std::size_t member = 0;; ++member) {
      position.key_begin = position.key_end = walker.at();
      if (in_object) {
        walker.skip_string();
        position.key_end = walker.at();
        walker.skip_space();
        walker.skip_mark();  // the colon
      }
      if (member == index) break;
      walker.skip_value();
      walker.skip_mark();  // the comma
    }
  }
  position.begin = walker.at();
  walker.skip_token();
  position.end = walker.at();
  return position;
}

}  // namespace nadi::inline ground
