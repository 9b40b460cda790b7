// The scripts that make shells complete nadi's command lines: what `nadi completion bash|zsh|fish` prints.
// They hold no list themselves. On each Tab they run `nadi __complete <shell> <words>`, which answers from
// the tables (completion.h): a line for each candidate, with what it is behind a tab; then ":files" or
// ":folders" where the shell should offer these as well.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nadi::inline show {

class CommandTable;
struct ValueSource;

struct ShellEntry {
  std::string_view name;
  std::string_view script;
};
std::span<const ShellEntry> shells();

// What the scripts run; no command of the table, since no user types it.
inline constexpr std::string_view kCompleteWord = "__complete";

// The answer to `nadi __complete <words>`: the first word is the shell. bash splits words at '=', the others
// do not.
std::string answer_completion(const CommandTable& commands, std::span<const std::string> words,
                              std::span<const ValueSource> values = {});

}  // namespace nadi::inline show
