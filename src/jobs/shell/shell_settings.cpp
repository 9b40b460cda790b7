// Reads statement by statement, as a shell does, and keeps the variables. A branch that is not taken is read
// with `active_` off: its words are split and nothing in them is expanded.

#include "nadi/shell/shell_settings.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_error.h"
#include "nadi/shell/shell_condition.h"
#include "nadi/shell/shell_word.h"
#include "nadi/shell/variable_name.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::size_t kMostLines = 100'000;
constexpr int kMostStatements = 64;  // inside each other

// What only a shell can do.
constexpr std::array<std::string_view, 7> kRefusedWords{"for",      "while", "until", "select",
                                                        "function", "{",     "("};
constexpr std::array<std::string_view, 5> kDeclarations{"export", "readonly", "declare", "typeset", "local"};

// The outcome of a statement; nothing means a command that was not run decides it.
using Outcome = std::optional<bool>;

bool is_spaces(char c) {
  return c == ' ' || c == '\t';
}
bool is_dots(std::string_view word) {
  return !word.empty() && word.find_first_not_of('.') == std::string_view::npos;
}

struct Assignment {
  std::string name;
  std::string_view value;  // as it is written
  bool appends = false;
};
std::optional<Assignment> assignment_in(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const bool appends = word[equals - 1] == '+';
  const std::string_view name = word.substr(0, equals - (appends ? 1 : 0));
  if (!is_variable_name(name)) return std::nullopt;
  return Assignment{std::string(name), word.substr(equals + 1), appends};
}

class SettingsReader {
 public:
  SettingsReader(std::string_view text, const fs::path& path, const ShellEnvironment& environment)
      : text_(text), path_(path.string()), environment_(environment) {
    variables_ = {
        .value = [this](const std::string& name) { return value_of(name); },
        .assign = [this](const std::string& name, std::string value) { assign(name, std::move(value)); }};
  }

  ShellSettings read() {
    while (at_ < text_.size() && !ended_) {
      statements({});
      if (at_ < text_.size() && !ended_)
        throw error(format("{} is not expected", quote_for_message(next_word())));
    }
    return std::move(result_);
  }

 private:
  // at_ only grows, and so does the line.
  Place place() const {
    const std::size_t end = std::min(at_, text_.size());
    for (; counted_ < end; ++counted_) line_ += text_[counted_] == '\n' ? 1 : 0;
    return {.file = path_, .line = line_};
  }
  std::int64_t line() const { return *place().line; }
  Error error(const std::string& what, const std::string& hint = "") const {
    return input_error(place(), what, hint);
  }

  std::optional<std::string> value_of(const std::string& name) const {
    if (const ShellSetting* const setting = result_.find(name)) return setting->value;
    if (std::ranges::find(unset_, name) != unset_.end()) return std::nullopt;
    return environment_(name);
  }
  void assign(const std::string& name, std::string value) {
    constexpr std::size_t kMostOfAll = std::size_t{16} << 20;
    total_ += name.size() + value.size();
    if (value.size() > kLongestShellValue || total_ > kMostOfAll)
      throw error("the values of all variables are too long", "is it a file of settings?");
    std::erase_if(result_.settings, [&](const ShellSetting& setting) { return setting.name == name; });
    std::erase(unset_, name);
    result_.settings.push_back({name, std::move(value), line()});
  }

  std::string expand(std::string_view word, std::string_view what = "") {
    const std::int64_t here = line();
    return expand_shell_word(
        word,
        {.variables = variables_, .place = place(), .what = what, .unset = [&](const std::string& name) {
           result_.unset.push_back({name, here});
         }});
  }

  // ---- words

  // Spaces, escaped newlines and comments.
  void skip_spaces() {
    for (;;) {
      if (at_ < text_.size() && is_spaces(text_[at_]))
        ++at_;
      else if (text_.substr(at_).starts_with("\\\n"))
        at_ += 2;
      else
        break;
    }
    if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void skip_lines() {
    for (skip_spaces(); at_ < text_.size() &&
                        (text_[at_] == '\n' || (text_[at_] == ';' && !text_.substr(at_).starts_with(";;")));
         skip_spaces())
      ++at_;
  }
  std::string_view next_word() const {
    const std::size_t end = shell_word_end(text_, at_, place());
    if (end > at_) return text_.substr(at_, end - at_);
    return text_.substr(at_, text_.substr(at_).starts_with(";;") ? 2 : 1);
  }
  bool next_is(std::string_view word) const { return at_ < text_.size() && next_word() == word; }
  void expect(std::string_view word) {
    skip_lines();
    if (!next_is(word))
      throw error(format("'{}' is expected{}", word,
                         at_ < text_.size() ? format(", not {}", quote_for_message(next_word())) : ""));
    at_ += word.size();
  }
  bool at_end_of_command() const {
    return at_ >= text_.size() || std::string_view("\n;&|)").find(text_[at_]) != std::string_view::npos;
  }

  // ---- statements

  template <typename Read>
  auto with_active(bool active, const Read& read) {
    const bool before = active_;
    active_ = active_ && active;
    const auto value = read();
    active_ = before;
    return value;
  }

  // Until the end of the text or one of the words, which is not taken.
  void statements(std::initializer_list<std::string_view> until) {
    if (++depth_ > kMostStatements) throw error("conditions are too deep");
    for (skip_lines(); at_ < text_.size() && !ended_; skip_lines()) {
      const std::string_view word = next_word();
      if (std::ranges::find(until, word) != until.end()) break;
      if (word == "then" || word == "else" || word == "elif" || word == "fi" || word == "esac" ||
          word == "done" || word == ";;" || word == ")" || word == "}")
        throw error(format("{} is not expected here", quote_for_message(word)));
      list();
    }
    --depth_;
  }

  // command && command || command
  Outcome list() {
    Outcome outcome = command();
    for (;;) {
      skip_spaces();
      const std::string_view rest = text_.substr(at_);
      const bool both = rest.starts_with("&&"), either = rest.starts_with("||");
      if (!both && !either) break;
      at_ += 2;
      skip_lines();
      if (active_ && !outcome) {
        unknown_ = true;
        command();
        unknown_ = false;
        continue;
      }
      const bool runs = active_ && *outcome == both;
      const Outcome next = with_active(runs, [&] { return command(); });
      if (runs) outcome = next;
    }
    if (at_ < text_.size() && (text_[at_] == '|' || text_[at_] == '&')) {
      // A pipe, or a command in the background: the words behind it are commands, too.
      ++at_;
      skip_lines();
      if (at_ < text_.size()) {
        unknown_ = true;
        list();
        unknown_ = false;
      }
      return std::nullopt;
    }
    return outcome;
  }

  Outcome command() {
    skip_spaces();
    if (at_ >= text_.size()) throw error("a command is missing at the end");
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("((")) return arithmetic_command();
    const std::string_view word = next_word();
    if (std::ranges::find(kRefusedWords, word) != kRefusedWords.end())
      throw error(format("{} needs a shell, and nothing is executed here", quote_for_message(word)),
                  "write the assignments themselves");
    if (word == "if") return if_statement();
    if (word == "case") return case_statement();
    if (word == "!") {
      ++at_;
      const Outcome outcome = command();
      return outcome ? Outcome(!*outcome) : outcome;
    }
    return simple_command();
  }

  Outcome arithmetic_command() {
    const std::size_t begin = at_ + 2;
    int open = 2;
    std::size_t end = begin;
    for (; end < text_.size() && open > 0; ++end) open += text_[end] == '(' ? 1 : text_[end] == ')' ? -1 : 0;
    if (open > 0) throw error("'((' without '))'");
    bool value = false;
    if (active_) {
      refuse_unknown("((");
      value = shell_arithmetic(expand(text_.substr(begin, end - 2 - begin)), variables_, place()) != 0;
    }
    at_ = end;
    return value;
  }

  void refuse_unknown(std::string_view what) const {
    if (unknown_)
      throw error(format("whether {} happens depends on a command, and nothing is executed here",
                         quote_for_message(what)),
                  "write the assignment alone in a line");
  }

  // A condition that a command decides leaves nothing to go by.
  bool condition() {
    skip_lines();
    const std::string words(text_.substr(at_, text_.find_first_of("\n;", at_) - at_));
    Outcome outcome = list();
    for (skip_lines(); at_ < text_.size() && !next_is("then"); skip_lines()) outcome = list();
    if (!active_) return false;
    if (!outcome)
      throw error(
          format("the condition {} is a command, and nothing is executed here", quote_for_message(words)),
          "conditions of [ ], [[ ]] and (( )) are read");
    return *outcome;
  }

  Outcome if_statement() {
    at_ += 2;
    bool taken = false, may_run = active_;
    for (;;) {
      const bool holds = with_active(may_run && !taken, [&] { return condition(); });
      expect("then");
      branch(may_run && !taken && holds, {"elif", "else", "fi"});
      taken = taken || holds;
      if (!next_is("elif")) break;
      at_ += 4;
    }
    if (next_is("else")) {
      at_ += 4;
      branch(may_run && !taken, {"fi"});
    }
    expect("fi");
    return true;
  }
  void branch(bool active, std::initializer_list<std::string_view> until) {
    with_active(active, [&] {
      statements(until);
      return 0;
    });
  }

  Outcome case_statement() {
    at_ += 4;
    skip_spaces();
    const std::string_view written = next_word();
    const std::string value = active_ ? expand(written) : "";
    at_ += written.size();
    expect("in");
    bool taken = false;
    for (skip_lines(); !next_is("esac"); skip_lines()) {
      if (at_ >= text_.size()) throw error("'case' without 'esac'");
      if (next_is("(")) ++at_;
      bool matches = false;
      for (;;) {
        skip_spaces();
        const std::string_view pattern = next_word();
        if (active_ && !taken) matches = matches || fnmatch(expand(pattern).c_str(), value.c_str(), 0) == 0;
        at_ += pattern.size();
        skip_spaces();
        if (next_is(")")) break;
        if (!next_is("|")) throw error("')' is expected behind the pattern");
        ++at_;
      }
      ++at_;
      branch(matches && !taken, {";;", "esac"});
      taken = taken || matches;
      if (next_is(";;")) at_ += 2;
    }
    at_ += 4;
    return true;
  }

  // Assignments, a command that is known here, or another one, which is named.
  Outcome simple_command() {
    const std::size_t begin = at_;
    const std::int64_t first_line = line();
    std::vector<std::string_view> words;
    bool in_brackets = false;
    for (skip_spaces(); at_ < text_.size(); skip_spaces()) {
      if (at_end_of_command() && !(in_brackets && text_[at_] != '\n' && text_[at_] != ';')) break;
      if (text_[at_] == '<' || text_[at_] == '>') {
        if (text_.substr(at_).starts_with("<<") && !text_.substr(at_).starts_with("<<<"))
          throw error("a here-document is not read", "write the assignments themselves");
        if (!in_brackets) {
          while (at_ < text_.size() && (std::string_view("<>&").find(text_[at_]) != std::string_view::npos))
            ++at_;
          skip_spaces();
          if (!at_end_of_command()) at_ = shell_word_end(text_, at_, place());
          continue;
        }
      }
      if (text_[at_] == '(' && !in_brackets) refuse_parenthesis(words);
      const std::string_view word = bracket_operator(in_brackets);
      at_ += word.size();
      words.push_back(word);
      if (words.size() == 1) in_brackets = word == "[[";
      if (in_brackets && word == "]]") in_brackets = false;
    }
    if (words.empty())
      throw error(format("{} is not expected here", quote_for_message(text_.substr(begin, 1))));
    if (!active_) return true;
    return run(words, first_line);
  }

  std::string_view bracket_operator(bool in_brackets) const {
    const std::string_view rest = text_.substr(at_);
    if (in_brackets)
      for (const std::string_view token : {"&&", "||", "(", ")", "<", ">"})
        if (rest.starts_with(token)) return rest.substr(0, token.size());
    return next_word();
  }

  void refuse_parenthesis(const std::vector<std::string_view>& words) const {
    const std::string before(words.empty() ? "" : words.back());
    if (assignment_in(before))
      throw error(format("{} is an array, which is not read", before.substr(0, before.find_first_of("+="))),
                  "write the value as one text");
    throw error(format("{} is a function, and nothing is executed here", quote_for_message(before)),
                "write the assignments themselves");
  }

  Outcome run(const std::vector<std::string_view>& words, std::int64_t first_line) {
    const std::string_view name = words[0];
    if (words.size() == 1 && is_dots(name)) {
      result_.dots.push_back(first_line);
      return true;
    }
    const auto plain =
        std::ranges::find_if(words, [](std::string_view word) { return !assignment_in(word); });
    if (plain == words.end()) {
      refuse_unknown(name);
      for (const std::string_view word : words) take(*assignment_in(word));
      return true;
    }
    if (plain != words.begin()) return other(*plain, first_line);  // A=1 command: for the command alone
    if (std::ranges::find(kDeclarations, name) != kDeclarations.end()) return declare(words);
    if (name == "unset") {
      refuse_unknown(name);
      for (const std::string_view word : words) {
        std::erase_if(result_.settings, [&](const ShellSetting& setting) { return setting.name == word; });
        unset_.emplace_back(word);
      }
      return true;
    }
    if (name == "let") {
      refuse_unknown(name);
      std::int64_t value = 0;
      for (std::size_t i = 1; i < words.size(); ++i)
        value = shell_arithmetic(expand(words[i]), variables_, place());
      return value != 0;
    }
    if (name == ":" || name == "true" || name == "false") {
      for (const std::string_view word : words) expand(word);
      return name != "false";
    }
    if (name == "[" || name == "[[" || name == "test") return test(words);
    if (name == "exit" || name == "return") {
      refuse_unknown(name);
      ended_ = true;
      return true;
    }
    return other(name, first_line);
  }

  Outcome other(std::string_view name, std::int64_t at_line) {
    result_.commands.push_back({std::string(name), at_line});
    return std::nullopt;
  }

  void take(const Assignment& assignment) {
    std::string value = expand(assignment.value, assignment.name);
    if (assignment.appends) value = value_of(assignment.name).value_or("") + value;
    assign(assignment.name, std::move(value));
  }

  Outcome declare(const std::vector<std::string_view>& words) {
    bool integer = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].starts_with("-")) {
        if (words[i].find_first_of("aA") != std::string_view::npos)
          throw error(format("'{} {}' makes an array, which is not read", words[0], words[i]));
        integer = integer || words[i].find('i') != std::string_view::npos;
        continue;
      }
      const auto assignment = assignment_in(words[i]);
      if (!assignment) continue;  // export NAME
      refuse_unknown(words[i]);
      take(*assignment);
      if (integer)
        assign(assignment->name,
               format("{}", shell_arithmetic(*value_of(assignment->name), variables_, place())));
    }
    return true;
  }

  Outcome test(const std::vector<std::string_view>& words) {
    const std::string_view end = words[0] == "[" ? "]" : words[0] == "[[" ? "]]" : "";
    if (!end.empty() && words.back() != end) throw error(format("'{}' without '{}'", words[0], end));
    std::vector<ShellConditionWord> condition;
    for (std::size_t i = 1; i + (end.empty() ? 0 : 1) < words.size(); ++i)
      condition.push_back({expand(words[i]), words[i].find_first_of("\"'\\$") != std::string_view::npos});
    return shell_condition(condition, words[0] == "[[", place());
  }

  std::string_view text_;
  std::string path_;
  const ShellEnvironment& environment_;
  ShellVariables variables_;
  ShellSettings result_;
  std::vector<std::string> unset_;
  std::size_t total_ = 0;  // bytes that were assigned
  std::size_t at_ = 0;
  mutable std::size_t counted_ = 0;
  mutable std::int64_t line_ = 1;
  int depth_ = 0;
  bool active_ = true;
  bool unknown_ = false;  // a command that was not run decides whether this runs
  bool ended_ = false;
};

}  // namespace

const ShellSetting* ShellSettings::find(std::string_view name) const {
  const auto found = std::ranges::find(settings, name, &ShellSetting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::vector<std::string> read_script_lines(const fs::path& path, std::string_view wanted) {
  const FileKind kind = kind_of_file(path);
  if (!is_text(kind) && kind != FileKind::kUnknown) throw WrongFileKind(path.string(), kind, wanted);
  std::ifstream file(path);
  if (!file) throw read_error(path.string(), errno);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.size() > kLongestLine || lines.size() > kMostLines)
      throw input_error({.file = path.string(), .line = std::ssize(lines) + 1},
                        format("too long for {}", wanted));
    lines.push_back(std::move(line));
  }
  return lines;
}

ShellSettings parse_shell_settings(std::string_view text, const fs::path& path,
                                   const ShellEnvironment& environment) {
  return SettingsReader(text, path, environment).read();
}

ShellSettings read_shell_settings(const fs::path& path, const ShellEnvironment& environment) {
  std::string text;
  for (const std::string& line : read_script_lines(path, "a file of settings")) text += line + "\n";
  return parse_shell_settings(text, path, environment);
}

}  // namespace nadi::inline jobs
