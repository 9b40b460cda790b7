#include "nadi/shell/shell_quote.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline jobs {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Characters that mean nothing to bash, wherever in a word they stand. '~' and '=' would at its beginning.
bool is_harmless(char c) {
  return is_letter_or_digit(c) || std::string_view("_-./:,+@%").find(c) != std::string_view::npos;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string shell_quote(std::string_view text) {
  if (text.find('\0') != std::string_view::npos)
    throw usage_error(
        format("{} holds a NUL, which no argument of a program can hold", quote_for_message(text)));
  const auto harmless = [](char c) { return is_harmless(c) || c == '='; };
  if (!text.empty() && text[0] != '=' && std::ranges::all_of(text, harmless)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string shell_words(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

std::string sbatch_quote(std::string_view text, std::string_view what) {
  if (std::ranges::any_of(text, is_control))
    throw usage_error(format("{} is {}: a line of a script for sbatch holds no control characters", what,
                             quote_for_message(text)),
                      "newlines and tabs are allowed in words of the command, not here");
  if (!text.empty() && std::ranges::all_of(text, is_harmless)) return std::string(text);
  // sbatch takes quotes away as it reads the line, and a backslash makes the next character an ordinary one,
  // inside of quotes, too.
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string comment_text(std::string_view text) {
  std::string comment(text);
  std::ranges::replace_if(comment, is_control, ' ');
  return comment;
}

}  // namespace nadi::inline jobs
