#include "nadi/cli/command.h"

namespace nadi {

// Defined in the commands' own files.
std::unique_ptr<Command> make_models_command();
std::unique_ptr<Command> make_show_command();
std::unique_ptr<Command> make_trace_command();

namespace {

constexpr std::array kCommands{
    CommandEntry{.name = "models",
                 .summary = "list the models that are built in",
                 .examples = {"nadi models", "nadi models --json"},
                 .make = &make_models_command},
    CommandEntry{.name = "show",
                 .summary = "show what a step of a model costs, or what a Chakra trace holds",
                 .examples = {"nadi show gpt2 --batch-size 4 --seq-length 512",
                              "nadi show llama3.1-8b --dtype bf16 --recompute full --json"},
                 .make = &make_show_command},
    CommandEntry{.name = "trace",
                 .summary = "write a step of a model as a Chakra trace, without running it",
                 .examples = {"nadi trace gpt2 --batch-size 4 --seq-length 512 -o out/gpt2",
                              "nadi trace gpt3-175b --step generate --num-input-tokens 10 "
                              "--num-output-tokens 20 -o out/gpt3"},
                 .make = &make_trace_command},
};

}  // namespace

std::span<const CommandEntry> commands() {
  return kCommands;
}

const CommandEntry* find_command(std::string_view name) {
  for (const CommandEntry& entry : kCommands)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace nadi
