// One word of a shell script, as it is written and as the shell reads it.
//
//   const std::size_t end = shell_word_end(text, at, place);         // behind the word that begins at `at`
//   expand_shell_word("\"${A:-1}\"-x", {variables, place, "NAME"})   // 1-x
//
// Read are quotes, backslashes, $NAME, ${NAME} with :- - := = :+ + :? ? # ## % %% ^^ ,, and :OFFSET:LENGTH,
// ${#NAME}, $((...)), and ~ at the beginning. Nothing is executed: $(...), <(...) and `...` are Error (input)
// that names the variable and the command. Words are neither split nor matched against names of files, as the
// shell does not do so in assignments either.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/shell/shell_arithmetic.h"

namespace nadi::inline jobs {

struct ShellExpansion {
  const ShellVariables& variables;
  Place place = {};
  std::string_view what = {};  // what the word is the value of: "NNODES"; "" for any other word
  // Told the name of each variable that is not set and stands for an empty text.
  std::function<void(const std::string& name)> unset = [](const std::string&) {};
};
// Longer values are Error (input); a line of a script has at most this many bytes.
inline constexpr std::size_t kLongestShellValue = 1 << 16;
std::string expand_shell_word(std::string_view word, const ShellExpansion& expansion);

// Words end at spaces, newlines and ;&|()<> outside of quotes and expansions. Error (input) for a quote, a
// brace or a parenthesis without an end.
std::size_t shell_word_end(std::string_view text, std::size_t begin, const Place& place);

}  // namespace nadi::inline jobs
