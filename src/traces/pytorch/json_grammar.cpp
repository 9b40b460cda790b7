#include "nadi/pytorch/json_grammar.h"

#include <cstddef>
#include <vector>

#include "nadi/pytorch/json_number.h"

namespace nadi::inline traces {

namespace {

class Grammar {
 public:
  explicit Grammar(std::string_view text) : text_(text) {}

  bool holds() {
    if (!value()) return false;
    while (!open_.empty()) {
      if (!after_value()) return false;
    }
    return peek() == '\0' && at_ == text_.size();
  }

 private:
  // The next character that is no white space; 0 at the end.
  char peek() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool literal(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool string() {
    if (peek() != '"') return false;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\' && !escape()) return false;
    }
    return false;
  }

  // Leaves at_ on the last character of the escape.
  bool escape() {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    constexpr std::string_view kHex = "0123456789abcdefABCDEF";
    if (++at_ >= text_.size()) return false;
    if (kShort.find(text_[at_]) != std::string_view::npos) return true;
    if (text_[at_] != 'u' || text_.size() - at_ < 5) return false;
    if (text_.substr(at_ + 1, 4).find_first_not_of(kHex) != std::string_view::npos) return false;
    at_ += 4;
    return true;
  }

  bool number() {
    constexpr std::string_view kOfNumbers = "+-.0123456789eE";
    const std::size_t begin = at_;
    while (at_ < text_.size() && kOfNumbers.find(text_[at_]) != std::string_view::npos) ++at_;
    return split_json_number(text_.substr(begin, at_ - begin)).has_value();
  }

  bool key() {
    if (!string() || peek() != ':') return false;
    ++at_;
    return true;
  }

  // A value, or the start of one that holds others: then up to its first.
  bool value() {
    while (true) {
      const char first = peek();
      if (first == '"') return string();
      if (first == 't') return literal("true");
      if (first == 'f') return literal("false");
      if (first == 'n') return literal("null");
      if (first != '[' && first != '{') return number();
      ++at_;
      const char close = first == '[' ? ']' : '}';
      if (peek() == close) {
        ++at_;
        return true;
      }
      open_.push_back(close);
      if (first == '{' && !key()) return false;
    }
  }

  // What may stand after a value in the innermost open array or object.
  bool after_value() {
    const char next = peek();
    ++at_;
    if (next == open_.back()) {
      open_.pop_back();
      return true;
    }
    if (next != ',') return false;
    return open_.back() == ']' ? value() : key() && value();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;  // what closes the arrays and objects around this place
};

}  // namespace

bool is_json(std::string_view text) {
  return Grammar(text).holds();
}

}  // namespace nadi::inline traces
