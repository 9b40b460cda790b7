// The help texts, made from the table of commands and from the flags that a command adds. Manual pages are
// made of the same parts: man_page.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/command_line/flags.h"

namespace nadi {

struct CommandEntry;
class CommandTable;

// What the program is for, in a line.
std::string_view program_summary();

// What `nadi --help` prints: all commands, one line each.
std::string program_help(const CommandTable& commands);

// What `nadi <group> --help` prints: the commands of a group (see command.h).
std::string group_help(const CommandTable& commands, std::string_view group);

// What `nadi <command> --help` and `--help-megatron` print: summary, every flag of that page with its
// default, those that people use most first; examples.
std::string command_help(const CommandTable& commands, const CommandEntry& entry, const Flags& flags,
                         HelpPage page = HelpPage::kMain);

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
std::vector<FlagGroup> flag_groups(const Flags& flags, HelpPage page);

}  // namespace nadi
