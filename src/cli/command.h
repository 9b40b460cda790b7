// A command of the program: `nadi <name> ...`. Each is one file, <name>_command.cpp, and one line of the
// table in commands.cpp, from which dispatch, help and the "did you mean" hints are made. A name may be two
// words: `nadi trace collective`.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi {

class Flags;
struct Console;

// Called in this order, once: add_flags(), run(). Failure is thrown as Error.
class Command {
 public:
  virtual ~Command() = default;
  virtual void add_flags(Flags& flags) const = 0;
  // `flags` have been parsed.
  virtual void run(const Flags& flags, Console& console) const = 0;
};

struct CommandEntry {
  std::string_view name;
  std::string_view summary;                  // one line
  std::array<std::string_view, 2> examples;  // whole command lines; the tests run them
  std::unique_ptr<Command> (*make)();
};

std::span<const CommandEntry> commands();

// How many words the name has.
std::size_t word_count(const CommandEntry& entry);

// The command whose name these words start with; of two, the one with the longer name. nullptr when there is
// none.
const CommandEntry* find_command(std::span<const std::string> words);
// The same; Error (usage) with the nearest name when there is none. Takes at least one word.
const CommandEntry& command_of(std::span<const std::string> words);

// Names of two words make a group: `data` has `data tokenizer` and others. A group may be a command, too:
// `trace`. Commands of the group in the order of the table; none when there is no such group.
std::vector<const CommandEntry*> commands_of_group(std::string_view group);

}  // namespace nadi
