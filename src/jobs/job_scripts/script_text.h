// Puts a script together: lines, with an empty one and a comment in front of each part.
//
//   ScriptText script;
//   script.part("Where files go.");
//   script.line("outputs={}", shell_quote(job.outputs.string()));
//
// The texts of lines are bash; whatever comes from the user went through shell_quote() (shell_quote.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline jobs {

class ScriptText {
 public:
  void part(std::string_view comment) {
    text_ += "\n# ";
    text_ += comment;
    text_ += '\n';
  }
  template <typename... Args>
  void line(fmt::format_string<Args...> pattern, Args&&... args) {
    text_ += fmt::format(pattern, std::forward<Args>(args)...) + "\n";
  }
  // As it is, with its newlines.
  void raw(std::string_view text) { text_ += text; }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Bash: `wait_for PID` gives the exit code of a child, however many signals come in between. Traps set
// interrupted=1, since a trap ends bash's wait.
inline constexpr std::string_view kWaitFunction = R"sh(wait_for() {
  local status
  while :; do
    interrupted=0
    wait "$1"; status=$?
    if ((!interrupted)); then return "$status"; fi
  done
}
)sh";

}  // namespace nadi::inline jobs
