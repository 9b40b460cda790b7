#include "nadi/text/tokenizer.h"

#include <array>
#include <system_error>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_error.h"
#include "nadi/text/byte_level_files.h"
#include "nadi/text/sentencepiece_files.h"
#include "nadi/text/wordpiece_files.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

// Either a file on its own or one with its companion.
struct FolderKind {
  std::string_view file;
  std::string_view companion;  // "" when there is none
  std::unique_ptr<Tokenizer> (*read)(const fs::path& folder);
};

struct ModelKind {
  std::string_view name;
  std::string_view telling_key;  // files written before 2020 do not name their model
  std::unique_ptr<Tokenizer> (*read)(const JsonValue& root);
};
constexpr std::array kModelKinds{
    ModelKind{"BPE", "merges", &read_byte_level_json},
    ModelKind{"WordPiece", "max_input_chars_per_word", &read_wordpiece_json},
};

constexpr std::string_view kSentencePieceFile = "tokenizer.model";

// A file that may not be looked at counts as absent.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::unique_ptr<Tokenizer> read_tokenizer_json(const fs::path& path) {
  const JsonDocument document = read_json_of(path, "a tokenizer", {FileKind::kTokenizer});
  const JsonValue root = document.root();
  const JsonValue model = root.at("model");
  if (const auto fallback = model.find("byte_fallback");
      fallback && fallback->is_bool() && fallback->as_bool()) {
    if (is_there(path.parent_path() / kSentencePieceFile))
      return read_sentencepiece_folder(path.parent_path());
    throw error_at(
        *fallback,
        format("a tokenizer with byte_fallback is read from {}, which is not beside it", kSentencePieceFile),
        "the folders of Llama 2 and Mistral have that file");
  }
  const auto type = model.find("type");
  for (const ModelKind& kind : kModelKinds) {
    if (type ? type->as_string() == kind.name : model.has(kind.telling_key)) return kind.read(root);
  }
  std::vector<std::string_view> known;
  for (const ModelKind& kind : kModelKinds) known.push_back(kind.name);
  if (!type) throw error_at(model, "a model of unknown type", did_you_mean("", known));
  throw error_at(*type, format("a model of type '{}' is not supported", type->as_string()),
                 did_you_mean(type->as_string(), known));
}

// In the order in which they are looked for.
constexpr std::array kFolderKinds{
    FolderKind{"tokenizer.json", "",
               [](const fs::path& folder) { return read_tokenizer_json(folder / "tokenizer.json"); }},
    FolderKind{"vocab.json", "merges.txt", &read_gpt2_folder},
    FolderKind{"vocab.txt", "", &read_bert_folder},
    FolderKind{kSentencePieceFile, "", &read_sentencepiece_folder},
};

const FolderKind* find_kind(const fs::path& folder) {
  for (const FolderKind& kind : kFolderKinds) {
    if (is_there(folder / kind.file) && (kind.companion.empty() || is_there(folder / kind.companion)))
      return &kind;
  }
  return nullptr;
}

}  // namespace

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  encode(text, ids);
  return ids;
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  if (!is_there(path)) throw no_such_file(path.string());
  if (std::error_code ignored; !fs::is_directory(path, ignored))
    return path.extension() == ".model" ? read_sentencepiece({.model = path}) : read_tokenizer_json(path);
  if (const FolderKind* kind = find_kind(path)) return kind->read(path);
  throw input_error({.file = path.string()}, "the folder has no tokenizer",
                    "looked for: tokenizer.json; vocab.json with merges.txt; vocab.txt; tokenizer.model");
}

bool has_tokenizer(const fs::path& folder) {
  return find_kind(folder) != nullptr;
}

}  // namespace nadi::inline files
