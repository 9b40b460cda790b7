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

class DataIndexCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    const IndexMapOptions defaults;
    flags.set_positional({"PREFIX", "the dataset: PREFIX.idx and PREFIX.bin"});
    flags.add({.names = {"--num-samples"},
               .value = "N",
               .help = "number of samples; the maps may have more, up to the end of an epoch",
               .fallback = "required"});
    flags.add(
        {.names = {"--seq-length"}, .value = "N", .help = "tokens of a sample", .fallback = "required"});
    flags.add({.names = {"--seed"},
               .value = "N",
               .help = "seed of the order of documents and samples",
               .fallback = format("{}", defaults.seed)});
    flags.add({.names = {"--bert"},
               .help = "write one map of sentences for BERT, for a dataset made with --split-sentences; off: "
                       "three maps for GPT"});
    flags.add({.names = {"--short-seq-prob"},
               .value = "P",
               .help = "for --bert: the share of samples that are shorter than they could be",
               .fallback = format("{}", defaults.short_probability)});
    flags.add({.names = {"--split"},
               .value = "WEIGHTS",
               .help = "weights that share out the documents to train, valid and test",
               .fallback = defaults.weights});
    std::vector<std::string_view> parts;
    for (const DatasetPart& part : kDatasetParts) parts.push_back(part.name);
    flags.add({.names = {"--part"},
               .value = "NAME",
               .help = "the part of the split that the maps are for",
               .fallback = std::string(parts[defaults.part]),
               .choices = parts});
    flags.add({.names = {"--output"},
               .value = "FOLDER",
               .help = "folder for the maps",
               .fallback = "the folder of the dataset"});
    flags.add({.names = {"--force"}, .help = "overwrite existing files"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
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
};

}  // namespace

std::unique_ptr<Command> make_data_index_command() {
  return std::make_unique<DataIndexCommand>();
}

}  // namespace nadi::inline show
