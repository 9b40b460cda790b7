// Manual pages in roff, for `man`, made of the same tables as help (help.h).
#pragma once

#include <string>

namespace nadi::inline show {

struct CommandEntry;
class CommandTable;

// nadi(1): the commands, variables of the environment, exit codes.
std::string program_man_page(const CommandTable& commands);

// nadi-train(1), nadi-trace-collective(1): all flags of a command, Megatron's in sections of their own.
std::string command_man_page(const CommandTable& commands, const CommandEntry& entry);

// "nadi-trace-collective.1"
std::string man_page_file(const CommandEntry& entry);

}  // namespace nadi::inline show
