// Learns a tokenizer from the texts of a file and writes its files, which load_tokenizer() reads.
//
//   const LearnedTokenizer learned = learn_tokenizer(
//       {.input = "corpus.jsonl", .vocabulary = 8192, .folder = "tok"});
//   learned.files                         // tok/tokenizer.json, tok/vocab.json, tok/merges.txt
//
// All files appear at the end, or none does. The same texts give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/data/text_files.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct TokenizerKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Tokenizer> (*train)(const TextSource& source, std::int64_t vocabulary);
};
// The first is the default.
std::span<const TokenizerKind> tokenizer_kinds();

struct LearnTokenizerOptions {
  std::optional<std::filesystem::path> input = {};  // as read_texts() takes it; none means the SQuAD sample
  std::string json_key = "text";                    // of the text in a line of .jsonl
  std::size_t kind = 0;                             // index in tokenizer_kinds()
  std::int64_t vocabulary = 8192;                   // tokens at most, special tokens included
  std::filesystem::path folder;                     // the files go here
  Overwrite overwrite = Overwrite::kRefuse;
};

struct LearnedTokenizer {
  std::string_view kind;
  std::optional<std::filesystem::path> input = {};
  TextTotals texts;
  std::int64_t vocabulary = 0;  // less than the limit where the texts are too short for it
  std::filesystem::path folder;
  std::vector<std::filesystem::path> files;
};

// `on_text` is called before each text, with what has been read so far; it may throw. Error as read_texts()
// and train_bpe() throw it; Error (usage) under Overwrite::kRefuse, before any text is read, when the folder
// has files of a tokenizer.
LearnedTokenizer learn_tokenizer(const LearnTokenizerOptions& options,
                                 const std::function<void(const TextTotals&)>& on_text = {});

}  // namespace nadi::inline files
