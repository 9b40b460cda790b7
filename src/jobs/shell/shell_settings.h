// The variables that a shell script sets, found without running a command.
//
//   const ShellSettings read = read_shell_settings("_00_conf.sh", process_environment());
//   read.find("NNODES")->value                   // "8"
//   for (const ShellCommand& command : read.commands) ...        // mkdir, echo: not run
//
// Evaluated are assignments (also with export, declare, readonly, +=, several in a line), unset, ((...)) and
// let, `if` and `case` with conditions of [ ], [[ ]], test and ((...)), && and ||; words as shell_word.h has
// them. Later lines see what earlier ones set, and the environment. A line of dots alone stands for lines
// that were left out, as in a listing; it is counted.
//
// Every other command is named in `commands` and not run. What cannot be known without running something is
// Error (input) with file and line: a value that is the output of a command, an assignment behind a command
// (`test_something && A=1`), loops, functions, arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

struct ShellSetting {
  std::string name;
  std::string value;
  std::int64_t line = 0;  // of its last assignment
};

struct ShellCommand {
  std::string name;  // "mkdir"
  std::int64_t line = 0;
};

struct ShellSettings {
  std::vector<ShellSetting> settings = {};  // the last of each name, in the order of their lines
  std::vector<ShellCommand> commands = {};  // that a shell would have run
  std::vector<std::int64_t> dots = {};      // lines of dots
  std::vector<ShellCommand> unset = {};     // variables that were used and are not set: they count as empty

  const ShellSetting* find(std::string_view name) const;  // nullptr when the script does not set it
};

using ShellEnvironment = std::function<std::optional<std::string>(const std::string& name)>;

ShellSettings read_shell_settings(const std::filesystem::path& path, const ShellEnvironment& environment);
// The same for a text; `path` is named in errors.
ShellSettings parse_shell_settings(std::string_view text, const std::filesystem::path& path,
                                   const ShellEnvironment& environment);

// The lines of a script, without carriage returns at their ends. Error (input) for a file that is missing, is
// no text or is far too long for a script; `wanted` says what it should be.
std::vector<std::string> read_script_lines(const std::filesystem::path& path, std::string_view wanted);

}  // namespace nadi::inline jobs
