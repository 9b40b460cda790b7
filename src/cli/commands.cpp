#include <algorithm>

#include "nadi/cli/command.h"
#include "nadi/cli/wrap.h"

namespace nadi {

// Defined in the commands' own files.
std::unique_ptr<Command> make_models_command();
std::unique_ptr<Command> make_show_command();
std::unique_ptr<Command> make_trace_command();
std::unique_ptr<Command> make_trace_collective_command();
std::unique_ptr<Command> make_data_tokenizer_command();
std::unique_ptr<Command> make_train_command();
std::unique_ptr<Command> make_generate_command();

namespace {

constexpr std::array kCommands{
    CommandEntry{.name = "models",
                 .summary = "list the models that are built in",
                 .examples = {"nadi models", "nadi models --json"},
                 .make = &make_models_command},
    CommandEntry{.name = "show",
                 .summary = "show what a step of a model costs, or what a Chakra trace holds",
                 .examples = {"nadi show gpt2 --batch-size 4 --seq-length 512",
                              "nadi show llama3.1-70b --dtype bf16 --tp 8 --pp 4 --rank 31"},
                 .make = &make_show_command},
    CommandEntry{
        .name = "trace",
        .summary = "write a step of a model as a Chakra trace, without running it",
        .examples = {"nadi trace gpt2 --batch-size 4 --seq-length 512 -o out/gpt2",
                     "nadi trace gpt3-175b --step generate --num-output-tokens 20 --tp 8 -o out/gpt3"},
        .make = &make_trace_command},
    CommandEntry{.name = "trace collective",
                 .summary = "write one collective operation as a Chakra trace, for simulators",
                 .examples = {"nadi trace collective all-reduce --op prod --bytes 1MB --ranks 8 -o out/ar",
                              "nadi trace collective send-receive --bytes 64KiB --ranks 2 -o out/sr"},
                 .make = &make_trace_collective_command},
    CommandEntry{.name = "data tokenizer",
                 .summary = "learn a tokenizer from text",
                 .examples = {"nadi data tokenizer --vocab-size 2048 -o tok",
                              "nadi data tokenizer --type wordpiece --vocab-size 2048 -o tok-bert"},
                 .make = &make_data_tokenizer_command},
    CommandEntry{
        .name = "train",
        .summary = "train GPT-2, BERT or Llama, and trace what ran",
        .examples = {"nadi train gpt2-tiny --batch-size 4 --max-seq-length 64 --max-steps 4 "
                     "--save-dir out/gpt2",
                     "nadi train bert-tiny --batch-size 2 --max-seq-length 32 --max-steps 4 --skip-eval "
                     "--enable-tracing"},
        .make = &make_train_command},
    CommandEntry{
        .name = "generate",
        .summary = "continue prompts with GPT-2, GPT-3 or Llama, and trace what ran",
        .examples =
            {"nadi generate gpt2-tiny --num-input-tokens 10 --num-output-tokens 20 --trace out/gpt2",
             "nadi generate llama-tiny --num-input-tokens 8 --temperature 0.7 --top-k 50 --top-p 0.9"},
        .make = &make_generate_command},
};

}  // namespace

std::span<const CommandEntry> commands() {
  return kCommands;
}

std::size_t word_count(const CommandEntry& entry) {
  return words_of(entry.name).size();
}

const CommandEntry* find_command(std::span<const std::string> words) {
  const CommandEntry* found = nullptr;
  for (const CommandEntry& entry : kCommands) {
    const std::vector<std::string> name = words_of(entry.name);
    const bool matches = words.size() >= name.size() && std::ranges::equal(words.first(name.size()), name);
    if (matches && (found == nullptr || entry.name.size() > found->name.size())) found = &entry;
  }
  return found;
}

}  // namespace nadi
