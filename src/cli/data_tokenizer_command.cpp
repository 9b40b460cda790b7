#include <array>
#include <ostream>

#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/sample_squad.h"
#include "nadi/data/squad.h"
#include "nadi/data/text_files.h"
#include "nadi/terminal/console.h"
#include "nadi/text/bpe_trainer.h"
#include "nadi/text/wordpiece_trainer.h"

namespace nadi {
namespace {

struct Kind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Tokenizer> (*train)(const TextSource& source, std::int64_t vocabulary);
};

constexpr std::array kKinds{
    Kind{"bpe", "byte-level BPE as GPT-2 has it",
         [](const TextSource& source, std::int64_t vocabulary) {
           return train_bpe(source, {.vocabulary_size = vocabulary});
         }},
    Kind{"wordpiece", "WordPiece as BERT has it, lower case",
         [](const TextSource& source, std::int64_t vocabulary) {
           return train_wordpiece(source, {.vocabulary_size = vocabulary});
         }},
};

constexpr std::int64_t kDefaultVocabulary = 8192;

// Counts what goes through, and notices Ctrl-C.
TextSource counted(TextSource source, TextTotals& totals, Console& console) {
  return [source = std::move(source), &totals, &console](std::string& document) {
    console.check_interrupted();
    if (!source(document)) return false;
    ++totals.texts;
    totals.bytes += Bytes{static_cast<std::int64_t>(document.size())};
    return true;
  };
}

class DataTokenizerCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    std::vector<std::string_view> kinds;
    std::string about = "what kind; ";
    for (const Kind& kind : kKinds) {
      kinds.push_back(kind.name);
      about += format("{}{}: {}", kinds.size() > 1 ? "; " : "", kind.name, kind.summary);
    }
    flags.add({.names = {"--input"},
               .value = "FILE",
               .help = "text to learn from: .jsonl, .txt (a document per line) or a SQuAD .json",
               .fallback = "the small sample that comes with Nadi"});
    flags.add({.names = {"--json-key"},
               .value = "KEY",
               .help = "where the text is in a line of .jsonl",
               .fallback = "text"});
    flags.add({.names = {"--type"},
               .value = "KIND",
               .help = about,
               .fallback = std::string(kKinds[0].name),
               .choices = kinds});
    flags.add({.names = {"--vocab-size"},
               .value = "N",
               .help = "tokens at most, special ones included",
               .fallback = format("{}", kDefaultVocabulary)});
    flags.add(
        {.names = {"--output"}, .value = "FOLDER", .help = "where its files go", .fallback = "required"});
    flags.add({.names = {"--force"}, .help = "overwrite files that are there"});
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    const auto output = flags.text("--output");
    if (!output) throw usage_error("--output is missing", "see 'nadi data tokenizer --help'");
    const auto overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
    const std::filesystem::path folder = *output;
    if (overwrite == Overwrite::kRefuse)
      for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "vocab.txt"})
        refuse_existing(folder / name);

    const auto input = flags.text("--input");
    if (!input)
      console.warnings() << "warning: no --input: learning from the small sample that comes with Nadi\n";
    TextTotals totals;
    const TextSource source = counted(
        input ? read_texts(*input, flags.text("--json-key").value_or("text"))
              : texts_of(parse_squad(std::string(sample_squad_train()), std::string(kSampleSquadTrainName))),
        totals, console);
    const Kind& kind = kKinds[flags.choice("--type").value_or(0)];
    const std::int64_t wanted = flags.integer("--vocab-size").value_or(kDefaultVocabulary);
    const std::unique_ptr<Tokenizer> tokenizer = kind.train(source, wanted);
    if (tokenizer->vocabulary_size() < wanted)
      console.info() << format("note: the text gives {} tokens, not {}\n",
                               with_thousands(tokenizer->vocabulary_size()), with_thousands(wanted));
    AtomicFileSet files(overwrite, Durability::kNow);
    Json names = Json::array();
    for (const auto& [name, contents] : tokenizer->files()) {
      files.write(folder / name, contents);
      names.push_back((folder / name).string());
    }
    files.publish();
    if (flags.given("--json"))
      console.out << dump_json(Json{{"nadi_version", version()},
                                    {"type", kind.name},
                                    {"input", input ? Json(*input) : Json(nullptr)},
                                    {"texts", totals.texts},
                                    {"text_bytes", totals.bytes.count()},
                                    {"vocabulary", tokenizer->vocabulary_size()},
                                    {"files", names}});
    else
      console.out << format("{}: {} tokens, learnt from {} texts, {}\n", folder.string(),
                            with_thousands(tokenizer->vocabulary_size()), with_thousands(totals.texts),
                            to_string(totals.bytes));
  }
};

}  // namespace

std::unique_ptr<Command> make_data_tokenizer_command() {
  return std::make_unique<DataTokenizerCommand>();
}

}  // namespace nadi
