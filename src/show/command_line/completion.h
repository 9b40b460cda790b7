// What may stand next on a command line, found in the table of commands and in the flags that they add: for
// the completion of shells. The scripts that ask for it are in shell_scripts.h.
//
//   complete(commands, {"train", "--dtype", "b"})   // bf16
//   complete(commands, {"data", ""})                // tokenizer, preprocess, index, inspect
//   complete(commands, {"show", "gpt2", "--js"})    // --json
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline show {

class CommandTable;

struct Candidate {
  std::string text;   // the whole word
  std::string about;  // one line; may be empty
};

// What may stand for a value, by the name that help gives it: {"CLUSTER", ...} for --cluster CLUSTER. It may
// look at the machine (ids of jobs); what it throws counts as nothing found.
struct ValueSource {
  std::string_view name;
  std::vector<Candidate> (*candidates)();
};

// Files are for the shell to complete: it knows the user's ways.
enum class PathKind : std::uint8_t { kNone, kFiles, kFolders };

struct Completion {
  std::vector<Candidate> candidates = {};
  PathKind paths = PathKind::kNone;  // may stand there as well
};

// `words` is the command line without the program; the last of them is to be completed, and is "" where a new
// one begins. A word may be a flag with its value, "--dtype=b". Flags of Megatron's are candidates from their
// third character on: there are hundreds. Never throws Error: nothing is known about a line that makes no
// sense.
// `values` are asked for what stands where a value has one of their names.
Completion complete(const CommandTable& commands, std::span<const std::string> words,
                    std::span<const ValueSource> values = {});

// What a value of this name is, in flags and arguments: FILE, FOLDER, PREFIX, MODEL, ... "N" is no path.
PathKind paths_of_value(std::string_view value);

}  // namespace nadi::inline show
