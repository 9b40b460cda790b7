// nadi data inspect
#include <algorithm>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/dataset_figures.h"
#include "nadi/data/document_texts.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/report/data_report.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kShownDocuments = 3;  // without --documents

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;  // included
};

// "7" or "0-3".
Range parse_documents(std::string_view text, std::int64_t documents) {
  const auto number = [](std::string_view word) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    if (!read_number(word, value) || value < 0) return std::nullopt;
    return value;
  };
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *first > *last)
    throw usage_error(format("--documents takes a number or a range as 0-3, not '{}'", text));
  if (*last >= documents)
    throw usage_error(format("--documents: there is no document {}: the dataset has {}", *last, documents),
                      documents > 0 ? format("they are numbered from 0 to {}", documents - 1) : "");
  return {*first, *last};
}

}  // namespace

void add_data_inspect_flags(Flags& flags) {
  flags.set_positional({"PREFIX", "the dataset: PREFIX.idx and PREFIX.bin"});
  flags.value("--tokenizer", "FOLDER", "print documents as text; a folder as 'nadi data tokenizer' writes",
              "none: documents are printed as tokens");
  flags.value("--documents", "RANGE", "which documents to print: 7 or 0-3",
              format("the first {} with --tokenizer, all with --format jsonl", kShownDocuments));
  flags.value("--format", "FORMAT",
              "text: figures and documents; jsonl: only documents, in the format that 'nadi data "
              "preprocess' reads, without the token at their end",
              "text", {.choices = {"text", "jsonl"}});
  flags.toggle("--json", "print figures as JSON: see docs/json.md");
}

void run_data_inspect(const Flags& flags, Console& console) {
  const bool json_lines = flags.choice("--format").value_or(0) == 1;
  const auto folder = flags.text("--tokenizer");
  const auto wanted = flags.text("--documents");
  if (flags.given("--json") && (folder || wanted || json_lines))
    throw usage_error("--json prints figures, not documents", "use --format jsonl for documents");
  if (json_lines && !folder) throw usage_error("--format jsonl needs a --tokenizer to make text of tokens");
  const IndexedDataset dataset(flags.positional());
  const std::unique_ptr<Tokenizer> tokenizer = folder ? load_tokenizer(*folder) : nullptr;
  Range range{0, json_lines ? dataset.documents() - 1 : std::min(kShownDocuments, dataset.documents()) - 1};
  if (wanted) range = parse_documents(*wanted, dataset.documents());

  if (!json_lines) {
    const DatasetFigures figures = dataset_figures(dataset, [&] { console.check_interrupted(); });
    if (flags.given("--json")) {
      console.out << dump_json(dataset_json(dataset, figures));
      return;
    }
    console.out << console.heading(dataset.prefix()) << "\n" << dataset_text(dataset, figures);
    if (!wanted && !tokenizer) return;
  }
  std::optional<DocumentTexts> texts;
  if (tokenizer) texts.emplace(dataset, *tokenizer);
  for (std::int64_t d = range.first; d <= range.last; ++d) {
    console.check_interrupted();
    if (json_lines) {
      print_verbatim(console.out, document_json_line(texts->of(d)));
      continue;
    }
    console.out << "\n"
                << console.heading(format("document {}", d)) << "\n"
                << (texts ? document_text(texts->of(d)) : document_tokens(dataset, d));
  }
  if (texts && texts->broken() > 0)
    console.info() << format("note: {} sequences are not UTF-8{}\n", with_thousands(texts->broken()),
                             json_lines ? ": what is not became U+FFFD" : "");
}

}  // namespace nadi::inline show
