#include "nadi/shell/shell_condition.h"

#include <fnmatch.h>

#include <filesystem>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {
namespace {

class Condition {
 public:
  Condition(std::span<const ShellConditionWord> words, bool patterns, const Place& place)
      : words_(words), patterns_(patterns), place_(place) {}

  bool evaluate() {
    if (words_.empty()) return false;
    const bool value = either();
    if (at_ < words_.size()) throw unread();
    return value;
  }

 private:
  bool is(std::string_view text, std::size_t ahead = 0) const {
    return at_ + ahead < words_.size() && !words_[at_ + ahead].quoted && words_[at_ + ahead].text == text;
  }

  bool either() {
    bool value = both();
    while (is("-o") || is("||")) {
      ++at_;
      const bool right = both();
      value = value || right;
    }
    return value;
  }

  bool both() {
    bool value = one();
    while (is("-a") || is("&&")) {
      ++at_;
      const bool right = one();
      value = value && right;
    }
    return value;
  }

  bool one() {
    if (is("!")) {
      ++at_;
      return !one();
    }
    if (is("(")) {
      ++at_;
      const bool value = either();
      if (!is(")")) throw unread();
      ++at_;
      return value;
    }
    if (at_ >= words_.size()) throw unread();
    if (at_ + 2 < words_.size() && is_comparison(words_[at_ + 1])) return comparison();
    if (const std::string& word = words_[at_].text;
        !words_[at_].quoted && word.size() == 2 && word[0] == '-' && at_ + 1 < words_.size())
      return unary(word[1]);
    return !words_[at_++].text.empty();
  }

  static bool is_comparison(const ShellConditionWord& word) {
    if (word.quoted) return false;
    for (const std::string_view known : {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
      if (word.text == known) return true;
    return false;
  }

  bool unary(char kind) {
    const std::string& text = words_[at_ + 1].text;
    std::error_code problem;
    bool value = false;
    switch (kind) {
      case 'z':
        value = text.empty();
        break;
      case 'n':
        value = !text.empty();
        break;
      case 'e':
        value = std::filesystem::exists(text, problem);
        break;
      case 'f':
        value = std::filesystem::is_regular_file(text, problem);
        break;
      case 'd':
        value = std::filesystem::is_directory(text, problem);
        break;
      default:
        throw unread();
    }
    at_ += 2;
    return value;
  }

  bool comparison() {
    const std::string& left = words_[at_].text;
    const std::string& kind = words_[at_ + 1].text;
    const ShellConditionWord& right = words_[at_ + 2];
    at_ += 3;
    if (kind == "<") return left < right.text;
    if (kind == ">") return left > right.text;
    if (kind[0] != '-') {
      const bool same =
          patterns_ && !right.quoted ? fnmatch(right.text.c_str(), left.c_str(), 0) == 0 : left == right.text;
      return same == (kind != "!=");
    }
    const std::int64_t a = number(left), b = number(right.text);
    if (kind == "-eq") return a == b;
    if (kind == "-ne") return a != b;
    if (kind == "-lt") return a < b;
    if (kind == "-le") return a <= b;
    if (kind == "-gt") return a > b;
    return a >= b;
  }

  std::int64_t number(const std::string& text) const {
    std::int64_t value = 0;
    if (!read_number(text, value))
      throw input_error(place_, format("{} is compared as a number, and is none", quote_for_message(text)));
    return value;
  }

  Error unread() const {
    std::string text;
    for (const ShellConditionWord& word : words_) text += (text.empty() ? "" : " ") + word.text;
    return input_error(place_, format("the condition {} is not read", quote_for_message(text)),
                       "comparisons of texts and numbers are, and -z, -n, -e, -f, -d");
  }

  std::span<const ShellConditionWord> words_;
  bool patterns_;
  const Place& place_;
  std::size_t at_ = 0;
};

}  // namespace

bool shell_condition(std::span<const ShellConditionWord> words, bool patterns, const Place& place) {
  return Condition(words, patterns, place).evaluate();
}

}  // namespace nadi::inline jobs
