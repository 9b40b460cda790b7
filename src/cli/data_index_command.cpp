#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/bert_index.h"
#include "nadi/data/document_split.h"
#include "nadi/data/gpt_index.h"
#include "nadi/terminal/console.h"

namespace nadi {
namespace {

constexpr std::string_view kAllForTraining = "100,0,0";
constexpr std::int64_t kDefaultSeed = 1234;  // Megatron's
constexpr double kDefaultShort = 0.1;
constexpr std::int64_t kBertAdded = 3;  // [CLS], [SEP], [SEP]

struct PartEntry {
  std::string_view name;
  DocumentRange DocumentSplit::*range;
};
constexpr std::array kParts{PartEntry{kTrainSplit, &DocumentSplit::train},
                            PartEntry{kValidationSplit, &DocumentSplit::validation},
                            PartEntry{kTestSplit, &DocumentSplit::test}};

// What is printed.
struct IndexReport {
  std::string kind;
  std::string part;
  std::int64_t documents = 0;
  std::int64_t samples = 0;
  std::optional<std::int64_t> epochs = {};  // of GPT's
  std::vector<std::string> files = {};
};

std::int64_t required(const Flags& flags, std::string_view name) {
  const auto value = flags.integer(name);
  if (!value) throw usage_error(format("{} is missing", name), "see 'nadi data index --help'");
  return *value;
}

IndexReport write_for_gpt(const IndexedDataset& dataset, const GptIndexOptions& options,
                          Overwrite overwrite) {
  const GptIndexFigures figures = gpt_index_figures(dataset, options);
  IndexReport report{.kind = "gpt",
                     .part = options.split,
                     .documents = options.last - options.first,
                     .samples = figures.samples,
                     .epochs = figures.epochs};
  for (const std::filesystem::path& path : gpt_index_paths(dataset, options).all()) {
    if (overwrite == Overwrite::kRefuse) refuse_existing(path);
    report.files.push_back(path.string());
  }
  write_gpt_index(dataset, options, overwrite);
  return report;
}

IndexReport write_for_bert(const IndexedDataset& dataset, const BertIndexOptions& options,
                           Overwrite overwrite) {
  const std::filesystem::path path = bert_index_path(dataset, options);
  if (overwrite == Overwrite::kRefuse) refuse_existing(path);
  write_bert_index(dataset, options, overwrite);
  return {.kind = "bert",
          .part = options.split,
          .documents = options.last - options.first,
          .samples = BertIndex(dataset, options).samples(),
          .files = {path.string()}};
}

class DataIndexCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({"PREFIX", "the dataset: PREFIX.idx and PREFIX.bin"});
    flags.add({.names = {"--num-samples"},
               .value = "N",
               .help = "how many samples are wanted; the maps may have more, up to the end of an epoch",
               .fallback = "required"});
    flags.add(
        {.names = {"--seq-length"}, .value = "N", .help = "tokens of a sample", .fallback = "required"});
    flags.add({.names = {"--seed"},
               .value = "N",
               .help = "of the order of documents and samples",
               .fallback = format("{}", kDefaultSeed)});
    flags.add(
        {.names = {"--bert"},
         .help = "one map of sentences, for a dataset made with --split-sentences; off: three for GPT"});
    flags.add({.names = {"--short-seq-prob"},
               .value = "P",
               .help = "for --bert: how many of the samples are shorter than they could be",
               .fallback = format("{}", kDefaultShort)});
    flags.add({.names = {"--split"},
               .value = "WEIGHTS",
               .help = "how the documents are shared out to train, valid and test",
               .fallback = std::string(kAllForTraining)});
    std::vector<std::string_view> parts;
    for (const PartEntry& part : kParts) parts.push_back(part.name);
    flags.add({.names = {"--part"},
               .value = "NAME",
               .help = "which of them the maps are for",
               .fallback = std::string(kParts[0].name),
               .choices = parts});
    flags.add({.names = {"--output"},
               .value = "FOLDER",
               .help = "where the maps go",
               .fallback = "beside the dataset"});
    flags.add({.names = {"--force"}, .help = "overwrite files that are there"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    const std::int64_t samples = required(flags, "--num-samples");
    const std::int64_t seq_length = required(flags, "--seq-length");
    const auto seed = static_cast<std::uint64_t>(flags.integer("--seed", 0).value_or(kDefaultSeed));
    const bool bert = flags.given("--bert");
    const auto short_probability = flags.number("--short-seq-prob");
    if (short_probability && !bert) throw usage_error("--short-seq-prob is for --bert only");
    const std::filesystem::path folder = flags.text("--output").value_or("");
    const auto overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;

    const IndexedDataset dataset(flags.positional());
    const PartEntry& part = kParts[flags.choice("--part").value_or(0)];
    const std::string weights = flags.text("--split").value_or(std::string(kAllForTraining));
    const DocumentSplit split = split_documents(weights, bert ? dataset.documents() : dataset.sequences());
    const DocumentRange range = split.*part.range;
    const IndexReport report =
        bert ? write_for_bert(dataset,
                              {.first = range.first,
                               .last = range.last,
                               .split = std::string(part.name),
                               .samples = samples,
                               .max_length = seq_length - kBertAdded,
                               .short_probability = short_probability.value_or(kDefaultShort),
                               .seed = seed,
                               .folder = folder},
                              overwrite)
             : write_for_gpt(dataset,
                             {.first = range.first,
                              .last = range.last,
                              .split = std::string(part.name),
                              .samples = samples,
                              .seq_length = seq_length,
                              .seed = seed,
                              .folder = folder},
                             overwrite);
    if (flags.given("--json")) {
      console.out << dump_json(Json{{"nadi_version", version()},
                                    {"dataset", dataset.prefix()},
                                    {"kind", report.kind},
                                    {"split", weights},
                                    {"part", report.part},
                                    {"seed", seed},
                                    {"seq_length", seq_length},
                                    {"documents", report.documents},
                                    {"epochs", report.epochs ? Json(*report.epochs) : Json(nullptr)},
                                    {"samples", report.samples},
                                    {"files", report.files}});
      return;
    }
    console.out << format("{}: {} samples of {} documents", dataset.prefix(), with_thousands(report.samples),
                          with_thousands(report.documents));
    if (report.epochs) console.out << format(", {} times", with_thousands(*report.epochs));
    console.out << "\n";
    for (const std::string& file : report.files) console.out << file << "\n";
  }
};

}  // namespace

std::unique_ptr<Command> make_data_index_command() {
  return std::make_unique<DataIndexCommand>();
}

}  // namespace nadi
