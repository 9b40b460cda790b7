// nadi data index
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/write_index_maps.h"
#include "nadi/report/data_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

std::int64_t required_number(const Flags& flags, std::string_view name) {
  const auto value = flags.integer(name);
  if (!value) throw usage_error(format("{} is missing", name));
  return *value;
}

}  // namespace

void add_data_index_flags(Flags& flags) {
  const IndexMapOptions defaults;
  flags.set_positional({"PREFIX", "the dataset: PREFIX.idx and PREFIX.bin"});
  flags.value("--num-samples", "N", "number of samples; the maps may have more, up to the end of an epoch",
              "required");
  flags.value("--seq-length", "N", "tokens of a sample", "required");
  flags.value("--seed", "N", "seed of the order of documents and samples", format("{}", defaults.seed));
  flags.toggle("--bert",
               "write one map of sentences for BERT, for a dataset made with --split-sentences; off: "
               "three maps for GPT");
  flags.value("--short-seq-prob", "P", "for --bert: the share of samples that are shorter than they could be",
              format("{}", defaults.short_probability));
  flags.value("--split", "WEIGHTS", "weights that share out the documents to train, valid and test",
              defaults.weights);
  std::vector<std::string_view> parts;
  for (const DatasetPart& part : kDatasetParts) parts.push_back(part.name);
  flags.value("--part", "NAME", "the part of the split that the maps are for",
              std::string(parts[defaults.part]), {.choices = parts});
  flags.value("--output", "FOLDER", "folder for the maps", "the folder of the dataset");
  flags.toggle("--force", "overwrite existing files");
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_data_index(const Flags& flags, Console& console) {
  IndexMapOptions options{.dataset = flags.positional(),
                          .samples = required_number(flags, "--num-samples"),
                          .seq_length = required_number(flags, "--seq-length"),
                          .folder = flags.text("--output").value_or("")};
  if (const auto seed = flags.integer("--seed", 0)) options.seed = static_cast<std::uint64_t>(*seed);
  if (flags.given("--bert")) options.kind = IndexMapKind::kBert;
  if (const auto probability = flags.number("--short-seq-prob")) {
    if (options.kind != IndexMapKind::kBert) throw usage_error("--short-seq-prob is for --bert only");
    options.short_probability = *probability;
  }
  options.weights = flags.text("--split").value_or(options.weights);
  options.part = flags.choice("--part").value_or(options.part);
  if (flags.given("--force")) options.overwrite = Overwrite::kAllow;
  const IndexMaps maps = write_index_maps(options);
  if (flags.given("--json"))
    console.out << dump_json(index_maps_json(maps, options));
  else
    console.out << index_maps_text(maps);
}

}  // namespace nadi::inline show
