// The help texts, made from the table of commands and from the flags that a command adds. Manual pages are
// made of the same parts: man_page.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/command_line/flags.h"

namespace nadi::inline show {

struct CommandEntry;
class CommandTable;

// What the program is for, in a line.
std::string_view program_summary();

// How much of it is shown: what people use (`--help`), everything (`--help-all`), Megatron-LM's flags
// (`--help-megatron`).
enum class HelpExtent : std::uint8_t { kUsual, kAll, kMegatron };

// All texts have lines of at most `width` columns.

// What `nadi --help` prints: a line for each command and each group of commands, how to begin, exit codes;
// with kAll every command of the groups, an example of each and the variables of the environment.
std::string program_help(const CommandTable& commands, HelpExtent extent, std::size_t width);

// What `nadi <group> --help` prints: the commands of a group (see command.h).
std::string group_help(const CommandTable& commands, std::string_view group, std::size_t width);

// What `nadi <command> --help` prints: summary, flags with their defaults, two examples, exit codes.
std::string command_help(const CommandTable& commands, const CommandEntry& entry, const Flags& flags,
                         HelpExtent extent, std::size_t width);

// The extent that a command's words ask for ("-h", "--help-all", ...); nothing when they ask for none.
std::optional<HelpExtent> wanted_help(const Flags& flags, std::span<const std::string> words);

// The parts of it.

// "nadi show MODEL [flags]"
std::string command_usage(const CommandEntry& entry, const Flags& flags);

// "(required)" or "(default: 1)"
std::string fallback_text(std::string_view fallback);

// Flags below one heading. They are those of `flags`, which must live as long.
struct FlagGroup {
  std::string_view name;
  std::vector<const FlagSpec*> flags;
};
// All flags of a page, those that people use first.
std::vector<FlagGroup> flag_groups(const Flags& flags, HelpPage page);

}  // namespace nadi::inline show
