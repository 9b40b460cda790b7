// The table of all commands. A new command is a file with two functions, its flags and what it does, and one entry there.
#pragma once

namespace nadi::inline show {

class CommandTable;

const CommandTable& commands();

}  // namespace nadi::inline show
