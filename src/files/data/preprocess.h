// From JSON lines to Megatron's indexed datasets, as Megatron's tools/preprocess_data.py does it: the same
// bytes for the same tokens, for any number of workers.
//
//   const auto tokenizer = load_tokenizer("tok");
//   const PreprocessReport report = preprocess(
//       {.inputs = {"arxiv.jsonl"}, .output_prefix = "data/arxiv", .workers = 2}, *tokenizer);
//   // data/arxiv_text_document.bin and .idx
//
// The thread of the caller reads and writes; worker threads parse and tokenize blocks of lines. Few blocks
// are in memory at a time, so memory does not depend on the size of the input.
//
// A document is a line. One without tokens stays a document, with no sequence, as in Megatron since 2023
// (before, it was left out); the report counts them. Sentences are split by sentence_splitter.h.
//
// All files appear at the end, together, or none does: on Error, and when `on_document` throws. Error (input)
// has the line of what is wrong (json_line.h), and is thrown where there is no document at all; files that
// exist are Error (usage) under Overwrite::kRefuse.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/data/sentence_splitter.h"

namespace nadi::inline files {

class Tokenizer;

struct PreprocessOptions {
  std::vector<std::filesystem::path> inputs;  // one after the other
  std::string output_prefix;
  std::vector<std::string> keys = {"text"};  // a dataset for each: <prefix>_<key>_<document or sentence>
  bool split_sentences = false;
  SentenceGap gap = SentenceGap::kDropped;
  bool append_end = false;          // the token that ends a document behind each one
  bool add_special_tokens = false;  // around each sequence, as Hugging Face's tokenizers do it when called
  int workers = 1;
  Overwrite overwrite = Overwrite::kRefuse;
};

struct PreprocessProgress {
  std::int64_t documents = 0;
  Bytes read = {};
};

struct PreprocessedDataset {
  std::string key;
  std::filesystem::path bin;
  std::filesystem::path idx;
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  std::int64_t empty_documents = 0;
};

struct PreprocessReport {
  std::int64_t documents = 0;
  Bytes read = {};
  std::string token_type;  // "uint16" or "int32"
  std::vector<PreprocessedDataset> datasets;
};

// `on_document` is called after each document, in their order, by the caller's thread.
PreprocessReport preprocess(const PreprocessOptions& options, const Tokenizer& tokenizer,
                            const std::function<void(const PreprocessProgress&)>& on_document = {});

// The files to preprocess at `path`: the file itself, or, in a folder, all that end with .jsonl or .json, by
// name. Error (input) when there are none.
std::vector<std::filesystem::path> find_json_lines(const std::filesystem::path& path);

// Sizes of the files that have one; a pipe counts as nothing.
Bytes total_size(std::span<const std::filesystem::path> files);

}  // namespace nadi::inline files
