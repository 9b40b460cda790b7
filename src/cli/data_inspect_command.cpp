#include <algorithm>
#include <charconv>
#include <limits>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/terminal/console.h"
#include "nadi/text/utf8.h"

namespace nadi {
namespace {

constexpr std::int64_t kShownDocuments = 3;  // where nothing was said

struct Figures {
  std::int64_t shortest = 0;  // tokens of a sequence
  std::int64_t longest = 0;
  std::int64_t largest_token = -1;
  std::int64_t empty_documents = 0;
  std::vector<std::string> index_maps = {};  // file names, sorted
};

std::vector<std::string> index_maps_of(const IndexedDataset& dataset) {
  const std::filesystem::path prefix = dataset.prefix();
  const std::string beginning = prefix.filename().string() + "_";
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && name.find("_indexmap_") != std::string::npos && name.ends_with(".npy"))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Reads all tokens.
Figures figures_of(const IndexedDataset& dataset, const Console& console) {
  Figures figures{.index_maps = index_maps_of(dataset)};
  figures.shortest = dataset.sequences() == 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  for (std::int64_t i = 0; i < dataset.sequences(); ++i) {
    console.check_interrupted();
    figures.shortest = std::min(figures.shortest, dataset.length(i));
    figures.longest = std::max(figures.longest, dataset.length(i));
    figures.largest_token = std::max<std::int64_t>(figures.largest_token, dataset.largest_token(i, i + 1));
  }
  for (std::int64_t d = 0; d < dataset.documents(); ++d)
    figures.empty_documents += dataset.first_sequence(d) == dataset.first_sequence(d + 1) ? 1 : 0;
  return figures;
}

double mean_length(const IndexedDataset& dataset) {
  if (dataset.sequences() == 0) return 0;
  return static_cast<double>(dataset.tokens()) / static_cast<double>(dataset.sequences());
}

void print_json(const IndexedDataset& dataset, const Figures& figures, Console& console) {
  console.out << dump_json(
      Json{{"nadi_version", version()},
           {"dataset", dataset.prefix()},
           {"dtype", dataset.dtype().name},
           {"documents", dataset.documents()},
           {"empty_documents", figures.empty_documents},
           {"sequences", dataset.sequences()},
           {"tokens", dataset.tokens()},
           {"shortest", figures.shortest},
           {"longest", figures.longest},
           {"mean_length", mean_length(dataset)},
           {"largest_token", figures.largest_token < 0 ? Json(nullptr) : Json(figures.largest_token)},
           {"has_modes", dataset.has_modes()},
           {"index_bytes", dataset.index_bytes().count()},
           {"data_bytes", dataset.data_bytes().count()},
           {"index_maps", figures.index_maps}});
}

void print_figures(const IndexedDataset& dataset, const Figures& figures, Console& console) {
  const auto line = [&](std::string_view name, const std::string& value) {
    console.out << format("  {:<14} {}\n", name, value);
  };
  console.out << console.heading(dataset.prefix()) << "\n";
  line("documents", with_thousands(dataset.documents()) +
                        (figures.empty_documents > 0
                             ? format(", {} of them empty", with_thousands(figures.empty_documents))
                             : ""));
  line("sequences", with_thousands(dataset.sequences()) + (dataset.has_modes() ? ", with modes" : ""));
  line("tokens", with_thousands(dataset.tokens()));
  line("lengths", format("{} to {}, {:.1f} on average", with_thousands(figures.shortest),
                         with_thousands(figures.longest), mean_length(dataset)));
  line("largest token", figures.largest_token < 0 ? "none" : with_thousands(figures.largest_token));
  line("type", std::string(dataset.dtype().name));
  line("files", format(".idx of {}, .bin of {}; they fit together", to_string(dataset.index_bytes()),
                       to_string(dataset.data_bytes())));
  line("index maps", figures.index_maps.empty() ? "none" : figures.index_maps.front());
  for (std::size_t i = 1; i < figures.index_maps.size(); ++i) line("", figures.index_maps[i]);
}

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;  // included
};

// "7" or "0-3".
Range parse_documents(std::string_view text, std::int64_t documents) {
  const auto number = [](std::string_view word) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc{} || end != word.data() + word.size() || value < 0) return std::nullopt;
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

// Turns documents into text, and counts what is not UTF-8.
class DocumentTexts {
 public:
  DocumentTexts(const IndexedDataset& dataset, const Tokenizer& tokenizer)
      : dataset_(dataset), tokenizer_(tokenizer) {}

  // One text per sequence, without the token that ends a document.
  std::vector<std::string> of(std::int64_t document) {
    std::vector<std::string> texts;
    const std::int64_t last = dataset_.first_sequence(document + 1);
    for (std::int64_t i = dataset_.first_sequence(document); i < last; ++i) {
      std::vector<TokenId> ids = dataset_.tokens(i);
      for (std::size_t t = 0; t < ids.size(); ++t) {
        if (ids[t] >= tokenizer_.vocabulary_size())
          throw input_error(
              dataset_.place_of(i, static_cast<std::int64_t>(t)),
              format("token {} is not one of the tokenizer's {}", ids[t], tokenizer_.vocabulary_size()),
              "use the tokenizer that the dataset was made with");
      }
      if (i + 1 == last && !ids.empty() && ids.back() == tokenizer_.special_tokens().end) ids.pop_back();
      texts.push_back(tokenizer_.decode(ids));
      broken_ += find_invalid_utf8(texts.back()) != std::string_view::npos ? 1 : 0;
    }
    return texts;
  }

  std::int64_t broken() const { return broken_; }

 private:
  const IndexedDataset& dataset_;
  const Tokenizer& tokenizer_;
  std::int64_t broken_ = 0;
};

// A line of JSON that 'nadi data preprocess' reads: a document of several sequences is a list of them.
std::string json_line(const std::vector<std::string>& texts) {
  const Json line{{"text", texts.size() == 1 ? Json(texts.front()) : Json(texts)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Control characters could talk to the terminal.
std::string shown(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char letter) {
        return (static_cast<unsigned char>(letter) < ' ' && letter != '\n' && letter != '\t') ||
               letter == 127;
      },
      '?');
  return text;
}

void print_tokens(const IndexedDataset& dataset, std::int64_t document, Console& console) {
  for (std::int64_t i = dataset.first_sequence(document); i < dataset.first_sequence(document + 1); ++i)
    console.out << format("{}\n", fmt::join(dataset.tokens(i), " "));
}

class DataInspectCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.set_positional({"PREFIX", "the dataset: PREFIX.idx and PREFIX.bin"});
    flags.add({.names = {"--tokenizer"},
               .value = "FOLDER",
               .help = "print documents as text; a folder as 'nadi data tokenizer' writes",
               .fallback = "none: documents are printed as tokens"});
    flags.add(
        {.names = {"--documents"},
         .value = "RANGE",
         .help = "which documents to print: 7 or 0-3",
         .fallback = format("the first {} with --tokenizer, all with --format jsonl", kShownDocuments)});
    flags.add({.names = {"--format"},
               .value = "FORMAT",
               .help = "text: figures and documents; jsonl: only documents, as 'nadi data preprocess' reads "
                       "them, without the token at their end",
               .fallback = "text",
               .choices = {"text", "jsonl"}});
    flags.add({.names = {"--json"}, .help = "print figures as JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
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
      const Figures figures = figures_of(dataset, console);
      if (flags.given("--json")) return print_json(dataset, figures, console);
      print_figures(dataset, figures, console);
      if (!wanted && !tokenizer) return;
    }
    std::optional<DocumentTexts> texts;
    if (tokenizer) texts.emplace(dataset, *tokenizer);
    for (std::int64_t d = range.first; d <= range.last; ++d) {
      console.check_interrupted();
      if (json_lines) {
        console.out << json_line(texts->of(d));
        continue;
      }
      console.out << "\n" << console.heading(format("document {}", d)) << "\n";
      if (!texts) {
        print_tokens(dataset, d, console);
        continue;
      }
      for (const std::string& text : texts->of(d)) console.out << shown(text) << "\n";
    }
    if (texts && texts->broken() > 0)
      console.info() << format("note: {} sequences are not UTF-8{}\n", with_thousands(texts->broken()),
                               json_lines ? ": what is not became U+FFFD" : "");
  }
};

}  // namespace

std::unique_ptr<Command> make_data_inspect_command() {
  return std::make_unique<DataInspectCommand>();
}

}  // namespace nadi
