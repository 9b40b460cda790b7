// Turns lines of JSON into the documents of an indexed dataset: what each worker of preprocess.h does.
//
//   DocumentEncoder encoder(tokenizer, {.keys = {"text"}, .end_of_document = 50256});
//   EncodedDocuments documents;
//   encoder.encode(block, "arxiv.jsonl", documents);
//
// As Megatron's preprocess_data: a text is one sequence, or, where sentences are split, each sentence is one;
// an array of strings is a sequence each in both cases. Texts without tokens make no sequence. The token that
// ends a document belongs to its last sequence, and a document without sequences does not get one.
//
// Not thread-safe: one per thread. The tokenizer is shared and must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/data/json_line.h"
#include "nadi/data/sentence_splitter.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct LineBlock;

struct DocumentEncoderOptions {
  std::vector<std::string> keys = {"text"};
  bool split_sentences = false;
  SentenceGap gap = SentenceGap::kDropped;
  // Around the tokens of every sequence, and behind the last one of a document.
  std::optional<TokenId> before = {};
  std::optional<TokenId> after = {};
  std::optional<TokenId> end_of_document = {};
};

// The documents of one key, one after the other.
struct EncodedTexts {
  std::vector<TokenId> tokens = {};
  std::vector<std::int64_t> lengths = {};    // tokens of each sequence
  std::vector<std::int64_t> sequences = {};  // of each document
};

struct EncodedDocuments {
  std::vector<EncodedTexts> keys = {};        // in the order of the options
  std::vector<std::int64_t> line_bytes = {};  // by document: what it was in the file, the line's end included
};

class DocumentEncoder {
 public:
  DocumentEncoder(const Tokenizer& tokenizer, DocumentEncoderOptions options);

  // Replaces the contents of `documents`. Error (input) with file and line: see json_line.h.
  void encode(const LineBlock& block, const std::string& file, EncodedDocuments& documents);

 private:
  void add_document(const JsonText& text, EncodedTexts& texts);
  void add_sequence(std::string_view text, EncodedTexts& texts) const;

  const Tokenizer& tokenizer_;
  DocumentEncoderOptions options_;
  JsonLineParser parser_;
  std::vector<std::string_view> sentences_;
};

}  // namespace nadi::inline files
