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

void add_preprocess_input_flags(Flags& flags) {
  flags.value("--input", "PATH", "JSON lines, a document per line; or a folder of .jsonl and .json files",
              "required");
  flags.value("--json-keys", "KEY ...",
              "keys of the texts in a line: strings, or arrays of strings (sentences that are "
              "already split); one dataset per key",
              "text", {.many = true});
  flags.toggle("--split-sentences",
               "make each sentence a sequence, for BERT. Sentences are split by rules for English, which "
               "mostly agree with the trained model that Megatron uses");
  flags.toggle("--keep-newlines", "with --split-sentences: keep the white space after a sentence");
  flags.value("--lang", "LANGUAGE", "language of the rules that split sentences", "english",
              {.choices = {"english"}});
  flags.toggle("--append-eod", "append the end-of-document token to each document");
}

void add_preprocess_output_flags(Flags& flags) {
  flags.value({"--output-prefix", "--output", "-o"}, "PREFIX",
              "writes PREFIX_KEY_document.bin and .idx, or PREFIX_KEY_sentence with "
              "--split-sentences",
              "required");
  flags.value("--workers", "N", "threads that tokenize; the output is the same for any number",
              "one per core");
  flags.value("--partitions", "N",
              "no effect: Megatron splits the input into files for this many groups of workers", "1");
  flags.toggle("--keep-sequential-samples", "no effect: documents always keep their order");
  flags.value("--log-interval", "N", "documents between two lines of progress",
              format("{}", PreprocessLogOptions{}.interval));
  flags.toggle("--force", "overwrite existing files");
  flags.toggle("--json", "print JSON: see docs/json.md");
}

}  // namespace

void add_data_preprocess_flags(Flags& flags) {
  add_preprocess_input_flags(flags);
  add_preprocess_output_flags(flags);
  FlagHeading group(flags, "tokenizer");
  group.value("--tokenizer", "FOLDER",
              "a folder with tokenizer.json, vocab.json and merges.txt, vocab.txt, or tokenizer.model",
              "required, or Megatron's flags");
  for (FlagSpec& spec : megatron_tokenizer_flags()) group.add(std::move(spec));
  group.toggle("--tokenizer-hf-no-include-special-tokens",
               "with --tokenizer-model: do not put the token that begins a text (BERT: [CLS] and "
               "[SEP]) around each sequence, as Megatron does");
  flags.show_first({"--input", "--output-prefix", "--tokenizer", "--append-eod", "--json-keys",
                    "--split-sentences", "--workers", "--force"});
}

void run_data_preprocess(const Flags& flags, Console& console) {
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

}  // namespace nadi::inline show
