// The help texts, made from the table of commands and from the flags that a command adds.
#pragma once

#include <string>

namespace nadi {

struct CommandEntry;
class Flags;

// What `nadi --help` prints: all commands, one line each.
std::string program_help();

// What `nadi <command> --help` prints: summary, every flag with its default, examples.
std::string command_help(const CommandEntry& entry, const Flags& flags);

}  // namespace nadi
