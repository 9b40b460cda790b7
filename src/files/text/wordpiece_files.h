// The files of a WordPiece tokenizer, as Hugging Face has them: vocab.txt, tokenizer.json with the model
// "WordPiece", tokenizer_config.json and special_tokens_map.json.
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
struct WordPieceVocabulary;

// (name, contents) of all of them.
std::vector<std::pair<std::string, std::string>> wordpiece_files(const WordPieceVocabulary& vocabulary);

// BERT's tokenizer of files with any names.
struct BertFiles {
  std::filesystem::path vocabulary;   // vocab.txt
  std::filesystem::path config = {};  // tokenizer_config.json; empty where there is none
  bool lower_case = true;             // whether text is put into lower case, without a config
};
std::unique_ptr<Tokenizer> read_bert_files(const BertFiles& files);

// The same of a folder with vocab.txt. tokenizer_config.json, if there is one, says whether text is
// put into lower case (do_lower_case; yes if it does not), whether accents are dropped (strip_accents) and
// whether ideographs are separated (tokenize_chinese_chars).
std::unique_ptr<Tokenizer> read_bert_folder(const std::filesystem::path& folder);

// A tokenizer.json whose model is "WordPiece".
std::unique_ptr<Tokenizer> read_wordpiece_json(const JsonValue& root);

}  // namespace nadi::inline files
