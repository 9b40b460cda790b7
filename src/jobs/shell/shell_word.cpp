#include "nadi/shell/shell_word.h"

#include <fnmatch.h>

#include <algorithm>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/units.h"
#include "nadi/shell/variable_name.h"

namespace nadi::inline jobs {
namespace {

constexpr std::string_view kWordEnds = " \t\n;&|()<>";
constexpr int kMostExpansions = 64;  // inside each other

Error without_end(std::string_view what, const Place& place) {
  return input_error(place, format("{} without an end", what));
}

// Behind the quote, the expansion or the character at `at`; `doubled`: inside of "...", where ' is a letter.
std::size_t after_part(std::string_view text, std::size_t at, bool doubled, const Place& place,
                       int depth = 0);

// Behind the closing character of what begins at `at`, where parts may stand inside.
std::size_t after_closing(std::string_view text, std::size_t at, std::string_view closing, bool doubled,
                          const Place& place, int depth) {
  while (at < text.size()) {
    if (text.substr(at).starts_with(closing)) return at + closing.size();
    at = after_part(text, at, doubled, place, depth);
  }
  throw without_end(
      closing == "\"" || closing == "`" ? "a quote" : format("'{}' missing: an expansion", closing), place);
}

std::size_t after_part(std::string_view text, std::size_t at, bool doubled, const Place& place, int depth) {
  if (depth > kMostExpansions) throw input_error(place, "expansions are too deep");
  const std::string_view rest = text.substr(at);
  if (rest[0] == '\\') return std::min(at + 2, text.size());
  if (rest[0] == '\'' && !doubled) {
    const std::size_t end = text.find('\'', at + 1);
    if (end == std::string_view::npos) throw without_end("a quote", place);
    return end + 1;
  }
  if (rest[0] == '"') return doubled ? at + 1 : after_closing(text, at + 1, "\"", true, place, depth + 1);
  if (rest[0] == '`') {
    for (std::size_t i = at + 1; i < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '`')
        return i + 1;
    }
    throw without_end("a quote", place);
  }
  if (rest.starts_with("$((")) return after_closing(text, at + 3, "))", false, place, depth + 1);
  if (rest.starts_with("$(")) return after_closing(text, at + 2, ")", false, place, depth + 1);
  if (rest.starts_with("${")) return after_closing(text, at + 2, "}", doubled, place, depth + 1);
  // A parenthesis inside of $(...) or $((...)).
  if (rest[0] == '(' && depth > 0 && !doubled)
    return after_closing(text, at + 1, ")", false, place, depth + 1);
  return at + 1;
}

bool matches(std::string_view pattern, std::string_view text) {
  return fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

// ${A#pattern}, ${A##pattern}, ${A%pattern}, ${A%%pattern}: without the shortest or longest match.
std::string without_match(const std::string& value, std::string_view pattern, bool at_end, bool longest) {
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t length = longest ? value.size() - i : i;
    const std::size_t cut = at_end ? value.size() - length : length;
    if (matches(pattern, at_end ? value.substr(cut) : value.substr(0, cut)))
      return at_end ? value.substr(0, cut) : value.substr(cut);
  }
  return value;
}

class WordReader {
 public:
  WordReader(std::string_view text, const ShellExpansion& expansion, int depth)
      : text_(text), expansion_(expansion), depth_(depth) {
    if (depth_ > kMostExpansions) throw input_error(expansion.place, "expansions are too deep");
  }

  // `doubled`: the word stands inside of "...".
  std::string read(bool doubled) {
    std::string value;
    if (!doubled && (text_ == "~" || text_.starts_with("~/"))) {
      value = variable("HOME");
      at_ = 1;
    }
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const std::size_t next = after_part(text_, at_, doubled, expansion_.place);
      const std::string_view part = text_.substr(at_, next - at_);
      if (c == '\\') {
        value += escaped(part, doubled);
      } else if (c == '\'' && !doubled) {
        value += part.substr(1, part.size() - 2);
      } else if (c == '"' && !doubled) {
        value += WordReader(part.substr(1, part.size() - 2), expansion_, depth_ + 1).read(true);
      } else if (c == '"') {
        // "${A:-"x"}": a quote inside of the quotes, which the shell drops, too.
      } else if (c == '`') {
        throw command(part.substr(1, part.size() - 2));
      } else if (c == '$') {
        value += dollar(doubled);
        expect_short(value);
        continue;
      } else {
        value += c;
      }
      at_ = next;
    }
    expect_short(value);
    return value;
  }

 private:
  // A=$A$A in forty lines would be a value of a terabyte.
  void expect_short(const std::string& value) const {
    if (value.size() > kLongestShellValue)
      throw input_error(expansion_.place,
                        format("a value is longer than {} bytes", with_thousands(kLongestShellValue)));
  }

  static std::string escaped(std::string_view part, bool doubled) {
    if (part.size() < 2) return "\\";
    if (part[1] == '\n') return "";
    if (doubled && std::string_view("$`\"\\").find(part[1]) == std::string_view::npos)
      return std::string(part);
    return std::string(part.substr(1));
  }

  Error command(std::string_view words) const {
    return input_error(expansion_.place,
                       format("{}needs the output of the command {}, and nothing is executed here",
                              expansion_.what.empty() ? "this " : std::string(expansion_.what) + " ",
                              quote_for_message(words)),
                       "write the value itself");
  }
  Error unread(std::string_view part) const {
    return input_error(expansion_.place, format("{}: this use of '$' is not read", quote_for_message(part)),
                       "$NAME, ${NAME}, ${NAME:-default} and $((...)) are");
  }

  std::string expand(std::string_view word, bool doubled) const {
    return WordReader(word, expansion_, depth_ + 1).read(doubled);
  }

  std::string variable(const std::string& name) const {
    if (auto value = expansion_.variables.value(name)) return *value;
    expansion_.unset(name);
    return "";
  }

  // at_ is on the '$', and then behind the expansion.
  std::string dollar(bool doubled) {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("$((") || rest.starts_with("$(") || rest.starts_with("${")) {
      const std::size_t end = after_part(text_, at_, doubled, expansion_.place);
      const std::string_view part = text_.substr(at_, end - at_);
      at_ = end;
      if (part.starts_with("$((") && part.ends_with("))"))
        return format("{}", shell_arithmetic(expand(part.substr(3, part.size() - 5), true),
                                             expansion_.variables, expansion_.place));
      if (part.starts_with("$(")) throw command(part.substr(2, part.size() - 3));
      return braces(part, part.substr(2, part.size() - 3), doubled);
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_variable_name(text_.substr(at_ + 1, end - at_))) ++end;
    const std::string name(text_.substr(at_ + 1, end - at_ - 1));
    if (name.empty()) {
      constexpr std::string_view kSpecial = "?$!@*#-0123456789'\"";
      if (rest.size() > 1 && kSpecial.find(rest[1]) != std::string_view::npos &&
          !(doubled && (rest[1] == '\'' || rest[1] == '"')))
        throw unread(rest.substr(0, 2));
      ++at_;
      return "$";
    }
    at_ = end;
    return variable(name);
  }

  std::string braces(std::string_view part, std::string_view inside, bool doubled) const {
    const bool length = inside.size() > 1 && inside[0] == '#';
    if (length) inside.remove_prefix(1);
    std::size_t end = 0;
    while (end < inside.size() && is_variable_name(inside.substr(0, end + 1))) ++end;
    const std::string name(inside.substr(0, end));
    std::string_view rest = inside.substr(end);
    if (name.empty() || (length && !rest.empty())) throw unread(part);
    if (length) return format("{}", variable(name).size());
    if (rest.empty()) return variable(name);
    const auto value = expansion_.variables.value(name);
    const bool colon =
        rest[0] == ':' && rest.size() > 1 && std::string_view("-=+?").find(rest[1]) != std::string_view::npos;
    if (colon) rest.remove_prefix(1);
    const bool there = value && !(colon && value->empty());
    const std::string_view operand = rest.substr(1);
    switch (rest[0]) {
      case '-':
        return there ? *value : expand(operand, doubled);
      case '=': {
        if (there) return *value;
        std::string assigned = expand(operand, doubled);
        expansion_.variables.assign(name, assigned);
        return assigned;
      }
      case '+':
        return there ? expand(operand, doubled) : "";
      case '?':
        if (there) return *value;
        throw input_error(expansion_.place, format("{} is not set: {}", name, expand(operand, doubled)));
      case '#':
      case '%': {
        const bool longest = !operand.empty() && operand[0] == rest[0];
        return without_match(variable(name), expand(operand.substr(longest ? 1 : 0), doubled), rest[0] == '%',
                             longest);
      }
      case '^':
      case ',':
        if (operand.size() != 1 || operand[0] != rest[0]) throw unread(part);
        return in_case(variable(name), rest[0] == '^');
      case ':':
        return cut(variable(name), operand);
      default:
        throw unread(part);
    }
  }

  static std::string in_case(std::string text, bool upper) {
    for (char& c : text) {
      if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (!upper) c = to_lower(c);
    }
    return text;
  }

  // ${A:offset:length}, each an arithmetic expression; counted from the end where it is below 0.
  std::string cut(const std::string& value, std::string_view operand) const {
    const auto number = [&](std::string_view text) {
      return shell_arithmetic(expand(text, true), expansion_.variables, expansion_.place);
    };
    const std::size_t colon = operand.find(':');
    const auto size = static_cast<std::int64_t>(value.size());
    std::int64_t begin = number(operand.substr(0, colon));
    if (begin < 0) begin += size;
    if (begin < 0 || begin > size) return "";
    std::int64_t end = size;
    if (colon != std::string_view::npos) {
      const std::int64_t length = number(operand.substr(colon + 1));
      end = length < 0 ? size + length : begin + std::min(length, size - begin);
      if (end < begin)
        throw input_error(expansion_.place, format("{}: the length is below 0", quote_for_message(operand)));
    }
    return value.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  std::string_view text_;
  const ShellExpansion& expansion_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

std::string expand_shell_word(std::string_view word, const ShellExpansion& expansion) {
  return WordReader(word, expansion, 0).read(false);
}

std::size_t shell_word_end(std::string_view text, std::size_t begin, const Place& place) {
  std::size_t at = begin;
  while (at < text.size() && kWordEnds.find(text[at]) == std::string_view::npos)
    at = after_part(text, at, false, place);
  return at;
}

}  // namespace nadi::inline jobs
