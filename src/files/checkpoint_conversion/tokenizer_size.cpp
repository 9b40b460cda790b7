#include "nadi/checkpoint_conversion/tokenizer_size.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/read_error.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenizerJson = "tokenizer.json", kVocabularyJson = "vocab.json",
                           kVocabularyLines = "vocab.txt";

constexpr std::array<std::string_view, 10> kTokenizerFiles{"added_tokens.json",  "chat_template.jinja",
                                                           "merges.txt",         "special_tokens_map.json",
                                                           "tokenizer.json",     "tokenizer.model",
                                                           "tokenizer.model.v3", "tokenizer_config.json",
                                                           "vocab.json",         "vocab.txt"};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// {"model": {"vocab": {"a": 0, ...} or [["a", -1.5], ...]}, "added_tokens": [{"content": "<s>", ...}, ...]}
std::int64_t size_in_tokenizer_json(const fs::path& path) {
  const JsonDocument document = read_json_of(path, "a tokenizer", {FileKind::kTokenizer});
  const JsonValue vocabulary = document.root().at("model").at("vocab");
  std::set<std::string, std::less<>> added;
  if (const auto list = document.root().find("added_tokens"))
    for (const JsonValue token : list->elements()) added.insert(token.at("content").as_string());
  if (!vocabulary.is_object()) {
    const auto pieces = vocabulary.elements();
    for (const JsonValue piece : pieces) added.erase(piece.at(std::size_t{0}).as_string());
    return static_cast<std::int64_t>(pieces.size() + added.size());
  }
  const auto tokens = vocabulary.items();
  for (const auto& [token, number] : tokens)
    if (const auto found = added.find(token); found != added.end()) added.erase(found);
  return static_cast<std::int64_t>(tokens.size() + added.size());
}

std::int64_t size_in_vocabulary_json(const fs::path& path) {
  const JsonDocument document = read_json_of(path, "a vocabulary", {});
  return static_cast<std::int64_t>(document.root().items().size());
}

std::int64_t lines_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw read_error(path.string(), errno);
  std::int64_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

std::int64_t size_in_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(kTokenizerJson)) return size_in_tokenizer_json(path);
  if (path.extension() == ".json") return size_in_vocabulary_json(path);
  if (path.extension() == ".txt") return lines_in(path);
  return load_tokenizer(path)->vocabulary_size();
}

}  // namespace

std::int64_t tokenizer_size(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (!is_file(path)) throw input_error({.file = path.string()}, "there is no tokenizer of this name");
    return size_in_file(path);
  }
  for (const std::string_view name : {kTokenizerJson, kVocabularyJson, kVocabularyLines})
    if (is_file(path / name)) return size_in_file(path / name);
  if (is_file(path / "tokenizer.model")) return size_in_file(path / "tokenizer.model");
  throw input_error(
      {.file = path.string()},
      "the folder has no tokenizer: none of tokenizer.json, vocab.json, vocab.txt, tokenizer.model");
}

std::vector<fs::path> tokenizer_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string_view name : kTokenizerFiles)
    if (is_file(folder / name)) files.push_back(folder / name);
  return files;
}

}  // namespace nadi::inline files
