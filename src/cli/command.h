// A command of the program: `nadi <name> ...`. Each is one file, <name>_command.cpp, and one line of the
// table in commands.cpp, from which dispatch, help and the "did you mean" hints are made.
#pragma once

#include <array>
#include <memory>
#include <span>
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

// nullptr when there is none of that name.
const CommandEntry* find_command(std::string_view name);

}  // namespace nadi
