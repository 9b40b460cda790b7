// The files of a byte-level tokenizer, as Hugging Face has them: vocab.json, merges.txt, tokenizer.json with
// the model "BPE", tokenizer_config.json and special_tokens_map.json.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nadi::inline ground {
class JsonValue;
}  // namespace nadi::inline ground

namespace nadi::inline files {

class Tokenizer;
struct ByteLevelVocabulary;

// (name, contents) of all of them; vocab.json and merges.txt only where text is split and merged as GPT-2
// does it, since those two files do not say how.
std::vector<std::pair<std::string, std::string>> byte_level_files(const ByteLevelVocabulary& vocabulary);

// GPT-2's tokenizer of files with any names.
struct Gpt2Files {
  std::filesystem::path vocabulary;   // vocab.json
  std::filesystem::path merges;       // merges.txt
  std::filesystem::path config = {};  // tokenizer_config.json; empty where there is none
};
std::unique_ptr<Tokenizer> read_gpt2_files(const Gpt2Files& files);

// The same of a folder with vocab.json and merges.txt.
std::unique_ptr<Tokenizer> read_gpt2_folder(const std::filesystem::path& folder);

// A tokenizer.json whose model is "BPE".
std::unique_ptr<Tokenizer> read_byte_level_json(const JsonValue& root);

}  // namespace nadi::inline files
