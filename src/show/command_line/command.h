// A command of the program: `nadi <name> ...`. Each is one file, cli/<name>_command.cpp, and one entry of the
// table in cli/commands.cpp. Dispatch, help, completion and the "did you mean" hints are made from that
// table. A name may be two words: `nadi trace collective`.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline show {

class Flags;
struct Console;

struct CommandEntry {
  std::string_view name;
  std::string_view summary;                  // one line
  std::array<std::string_view, 2> examples;  // whole command lines; the tests run them
  void (*add_flags)(Flags& flags);
  // `flags` have been parsed. Failure is thrown as Error.
  void (*run)(const Flags& flags, Console& console);
};

// A group of commands, for help: those whose names begin with its word.
struct GroupEntry {
  std::string_view name;
  std::string_view summary;  // a few words
};

// How many words the name has.
std::size_t word_count(const CommandEntry& entry);

// The commands of a program, in the order in which help lists them. Names of two words make a group: `data`
// has `data tokenizer` and others. A group may be a command, too: `trace`.
class CommandTable {
 public:
  // The entries must outlive the table. A group that is a command as well needs no entry of its own.
  explicit CommandTable(std::span<const CommandEntry> entries, std::span<const GroupEntry> groups = {})
      : entries_(entries), groups_(groups) {}

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }

  // The command whose name these words start with; of two, the one with the longer name. nullptr when there
  // is none.
  const CommandEntry* find(std::span<const std::string> words) const;
  // The same; Error (usage) with the nearest name when there is none. Takes at least one word.
  const CommandEntry& at(std::span<const std::string> words) const;
  // The commands of a group; none when there is no such group.
  std::vector<const CommandEntry*> group(std::string_view name) const;
  // What a group is for; "" where nobody has said.
  std::string_view group_summary(std::string_view name) const;

 private:
  std::span<const CommandEntry> entries_;
  std::span<const GroupEntry> groups_;
};

}  // namespace nadi::inline show
