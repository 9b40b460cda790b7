// SentencePiece's tokenizers: Llama 2's, and those of Megatron's models that were trained with it.
//
//   const auto tokenizer = read_sentencepiece({.model = "tokenizer.model"});
//
// Text is encoded and tokens are decoded by the SentencePiece library, which is optional when building:
// without it every function here is Error (environment). Unlike other tokenizers, control tokens that stand
// literally in a text ("</s>") are text, as they are for the library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// Who begins and ends a text.
enum class SentencePieceKind : std::uint8_t {
  kLlama2,  // <s> begins it, </s> ends a document
  kGpt,     // nothing begins it, </s> ends a document
  // Megatron's SentencePieceTokenizer: <CLS>, <SEP>, <EOD> and <MASK> come behind the tokens of the model,
  // unless it has them, and so do tokens for padding, begin and end where the model has none. <EOD> ends a
  // document. These tokens are found in text, and what is between them is encoded piece by piece.
  kMegatron,
};

struct SentencePieceFiles {
  std::filesystem::path model;  // tokenizer.model
  std::filesystem::path config =
      {};  // tokenizer_config.json, which may name the kind; empty where there is none
  SentencePieceKind kind = SentencePieceKind::kLlama2;  // without a config
};
// Error (input) for a file that is damaged, or no model of SentencePiece's.
std::unique_ptr<Tokenizer> read_sentencepiece(const SentencePieceFiles& files);

// The same of a folder with tokenizer.model, and tokenizer_config.json if there is one. load_tokenizer()
// takes it also where there is a tokenizer.json that says the same in another way (byte_fallback).
std::unique_ptr<Tokenizer> read_sentencepiece_folder(const std::filesystem::path& folder);

// Whether this build has the library.
bool has_sentencepiece();

}  // namespace nadi::inline files
