// nadi data tokenizer
#include <algorithm>
#include <filesystem>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/learn_tokenizer.h"
#include "nadi/report/data_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/progress_line.h"

namespace nadi::inline show {
void add_data_tokenizer_flags(Flags& flags) {
  const LearnTokenizerOptions defaults;
  std::vector<std::string_view> kinds;
  std::string about;
  for (const TokenizerKind& kind : tokenizer_kinds()) {
    kinds.push_back(kind.name);
    about += format("{}{}: {}", about.empty() ? "" : "; ", kind.name, kind.summary);
  }
  flags.value("--input", "FILE", "text to learn from: .jsonl, .txt (a document per line) or a SQuAD .json",
              "the small sample that comes with Nadi");
  flags.value("--json-key", "KEY", "key of the text in a line of .jsonl", defaults.json_key);
  flags.value("--type", "KIND", about, std::string(kinds[defaults.kind]), {.choices = kinds});
  flags.value("--vocab-size", "N", "largest number of tokens, special tokens included",
              format("{}", defaults.vocabulary));
  flags.value("--output", "FOLDER", "folder for the files of the tokenizer", "required");
  flags.toggle("--force", "overwrite existing files");
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_data_tokenizer(const Flags& flags, Console& console) {
  const auto output = flags.text("--output");
  if (!output) throw usage_error("--output is missing");
  LearnTokenizerOptions options{.folder = *output};
  if (const auto input = flags.text("--input")) options.input = *input;
  if (!options.input)
    console.warnings() << "warning: no --input: learning from the small sample that comes with Nadi\n";
  options.json_key = flags.text("--json-key").value_or(options.json_key);
  options.kind = flags.choice("--type").value_or(options.kind);
  options.vocabulary = flags.integer("--vocab-size").value_or(options.vocabulary);
  if (flags.given("--force")) options.overwrite = Overwrite::kAllow;
  ProgressLine progress(console, "MB of text", steady_clock());
  std::error_code unknown;  // then reading says what is wrong
  const Bytes all{
      options.input ? static_cast<std::int64_t>(std::filesystem::file_size(*options.input, unknown)) : 0};
  const LearnedTokenizer learned = learn_tokenizer(options, [&](const TextTotals& so_far) {
    progress.update(so_far.bytes, unknown ? so_far.bytes : std::max(all, so_far.bytes));
  });
  if (learned.vocabulary < options.vocabulary)
    console.info() << format("note: the text gives {} tokens, not {}\n", with_thousands(learned.vocabulary),
                             with_thousands(options.vocabulary));
  if (flags.given("--json"))
    console.out << dump_json(tokenizer_json(learned));
  else
    console.out << tokenizer_text(learned);
}

}  // namespace nadi::inline show
