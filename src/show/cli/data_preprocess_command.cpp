// nadi data preprocess
#include <algorithm>
#include <ostream>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/preprocess.h"
#include "nadi/megatron/tokenizer.h"
#include "nadi/report/data_report.h"
#include "nadi/report/preprocess_log.h"
#include "nadi/terminal/console.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kMostWorkers = 1024;

struct ChosenTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string name;
  bool adds_special_tokens = false;
};

ChosenTokenizer choose_tokenizer(const Flags& flags) {
  const auto folder = flags.text("--tokenizer");
  MegatronTokenizer megatron = load_megatron_tokenizer(flags);
  if (folder && (megatron.tokenizer != nullptr || megatron.none_wanted))
    throw usage_error("--tokenizer and Megatron's flags both name a tokenizer", "give one of them");
  if (folder) return {.tokenizer = load_tokenizer(*folder), .name = *folder};
  if (megatron.tokenizer == nullptr)
    throw usage_error(megatron.none_wanted ? "text needs a tokenizer; NullTokenizer does not encode text"
                                           : "--tokenizer is missing",
                      "'nadi data tokenizer' learns one");
  // In Megatron these tokenizers add the token that begins a text (BERT: [CLS] and [SEP]).
  const bool adds = megatron.adds_special_tokens && !flags.given("--tokenizer-hf-no-include-special-tokens");
  return {.tokenizer = std::move(megatron.tokenizer), .name = megatron.name, .adds_special_tokens = adds};
}

std::string required_text(const Flags& flags, std::string_view name) {
  const auto value = flags.text(name);
  if (!value) throw usage_error(format("{} is missing", name));
  return *value;
}

int workers_of(const Flags& flags) {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t workers = flags.integer("--workers").value_or(cores);
  if (workers > kMostWorkers) throw usage_error(format("--workers takes {} at most", kMostWorkers));
  return static_cast<int>(workers);
}

class DataPreprocessCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    add_input_flags(flags);
    add_output_flags(flags);
    constexpr std::string_view kGroup = "tokenizer";
    flags.add(
        {.names = {"--tokenizer"},
         .value = "FOLDER",
         .help = "a folder with tokenizer.json, vocab.json and merges.txt, vocab.txt, or tokenizer.model",
         .fallback = "required, or Megatron's flags",
         .group = kGroup});
    for (FlagSpec spec : megatron_tokenizer_flags()) {
      spec.group = kGroup;
      flags.add(std::move(spec));
    }
    flags.add({.names = {"--tokenizer-hf-no-include-special-tokens"},
               .help = "with --tokenizer-model: do not put the token that begins a text (BERT: [CLS] and "
                       "[SEP]) around each sequence, as Megatron does",
               .group = kGroup});
    flags.show_first({"--input", "--output-prefix", "--tokenizer", "--append-eod", "--json-keys",
                      "--split-sentences", "--workers", "--force"});
  }

  void run(const Flags& flags, Console& console) const override {
    const std::string input = required_text(flags, "--input");
    PreprocessOptions options{.inputs = {},
                              .output_prefix = required_text(flags, "--output-prefix"),
                              .split_sentences = flags.given("--split-sentences"),
                              .append_end = flags.given("--append-eod"),
                              .workers = workers_of(flags)};
    if (flags.given("--json-keys")) options.keys = flags.texts("--json-keys");
    if (flags.given("--keep-newlines")) {
      if (!options.split_sentences) throw usage_error("--keep-newlines needs --split-sentences");
      options.gap = SentenceGap::kKept;
    }
    if (flags.given("--force")) options.overwrite = Overwrite::kAllow;
    const std::int64_t interval = flags.integer("--log-interval").value_or(PreprocessLogOptions{}.interval);
    if (flags.integer("--partitions").value_or(1) > 1)
      console.info() << "note: --partitions has no effect: the workers share the input, and documents keep "
                        "their order\n";
    const ChosenTokenizer chosen = choose_tokenizer(flags);
    options.add_special_tokens = chosen.adds_special_tokens;
    options.inputs = find_json_lines(input);

    PreprocessRun done{.input = input,
                       .tokenizer = chosen.name,
                       .vocabulary = chosen.tokenizer->vocabulary_size(),
                       .workers = options.workers,
                       .report = {}};
    {
      PreprocessLog log(console, {.interval = interval, .total = total_size(options.inputs)});
      done.report = preprocess(options, *chosen.tokenizer, std::ref(log));
      done.seconds = log.seconds();
    }
    if (flags.given("--json"))
      console.out << dump_json(preprocess_json(done));
    else
      console.out << preprocess_text(done);
  }

 private:
  static void add_input_flags(Flags& flags) {
    flags.add({.names = {"--input"},
               .value = "PATH",
               .help = "JSON lines, a document per line; or a folder of .jsonl and .json files",
               .fallback = "required"});
    flags.add({.names = {"--json-keys"},
               .value = "KEY ...",
               .help = "keys of the texts in a line: strings, or arrays of strings (sentences that are "
                       "already split); one dataset per key",
               .fallback = "text",
               .many = true});
    flags.add({.names = {"--split-sentences"},
               .help =
                   "make each sentence a sequence, for BERT. Sentences are split by rules for English, which "
                   "mostly agree with the trained model that Megatron uses"});
    flags.add({.names = {"--keep-newlines"},
               .help = "with --split-sentences: keep the white space after a sentence"});
    flags.add({.names = {"--lang"},
               .value = "LANGUAGE",
               .help = "language of the rules that split sentences",
               .fallback = "english",
               .choices = {"english"}});
    flags.add({.names = {"--append-eod"}, .help = "append the end-of-document token to each document"});
  }

  static void add_output_flags(Flags& flags) {
    flags.add({.names = {"--output-prefix", "--output", "-o"},
               .value = "PREFIX",
               .help = "writes PREFIX_KEY_document.bin and .idx, or PREFIX_KEY_sentence with "
                       "--split-sentences",
               .fallback = "required"});
    flags.add({.names = {"--workers"},
               .value = "N",
               .help = "threads that tokenize; the output is the same for any number",
               .fallback = "one per core"});
    flags.add({.names = {"--partitions"},
               .value = "N",
               .help = "no effect: Megatron splits the input into files for this many groups of workers",
               .fallback = "1"});
    flags.add(
        {.names = {"--keep-sequential-samples"}, .help = "no effect: documents always keep their order"});
    flags.add({.names = {"--log-interval"},
               .value = "N",
               .help = "documents between two lines of progress",
               .fallback = format("{}", PreprocessLogOptions{}.interval)});
    flags.add({.names = {"--force"}, .help = "overwrite existing files"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }
};

}  // namespace

std::unique_ptr<Command> make_data_preprocess_command() {
  return std::make_unique<DataPreprocessCommand>();
}

}  // namespace nadi::inline show
