// A command of the program: `nadi <name> ...`. Each is one file, <name>_command.cpp, and one line of the
// table in commands.cpp, from which dispatch, help and the "did you mean" hints are made. A name may be two
// words: `nadi trace collective`.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace nadi
