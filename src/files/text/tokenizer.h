// Text to the numbers that a model reads, and back.
//
//   const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer("tok/");
//   std::vector<TokenId> ids = tokenizer->encode("Hello, world");
//   tokenizer->decode(ids)
//
// Implementations: byte-level BPE (GPT-2, Llama 3), WordPiece (BERT), SentencePiece (Llama 2). Immutable
// after construction; encode() and decode() may be called from several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nadi::inline files {

using TokenId = std::int32_t;

// The tokens with a meaning of their own, as far as the tokenizer has them.
struct SpecialTokens {
  std::optional<TokenId> begin = {};     // <|begin_of_text|>
  std::optional<TokenId> end = {};       // <|endoftext|>: ends a document
  std::optional<TokenId> padding = {};   // [PAD]
  std::optional<TokenId> unknown = {};   // [UNK]
  std::optional<TokenId> classify = {};  // [CLS]
  std::optional<TokenId> separate = {};  // [SEP]
  std::optional<TokenId> mask = {};      // [MASK]
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the tokens of `text` to `ids`. Adds no special tokens of its own; where special tokens stand
  // literally in the text ("<|endoftext|>", "[MASK]"), they become those tokens, as Hugging Face's tokenizers
  // do it. Bytes that are not UTF-8 are Error (input) with their offset.
  virtual void encode(std::string_view text, std::vector<TokenId>& ids) const = 0;
  std::vector<TokenId> encode(std::string_view text) const;

  // The text of the tokens. Error (input) for a number outside of the vocabulary. Byte-level tokens may end
  // within a character: decode() gives those bytes as they are.
  virtual std::string decode(std::span<const TokenId> ids) const = 0;

  // One more than the largest token number.
  virtual std::int64_t vocabulary_size() const = 0;
  virtual const SpecialTokens& special_tokens() const = 0;
  virtual bool is_special(TokenId id) const = 0;

  // The files that Hugging Face's tokenizers of this kind read, as (name, contents), from which
  // load_tokenizer() makes the same tokenizer again.
  virtual std::vector<std::pair<std::string, std::string>> files() const = 0;
};

// From a folder with tokenizer.json, vocab.json + merges.txt, vocab.txt, or tokenizer.model (in this order),
// or from a tokenizer.json or a *.model itself. Error (input) names the file and place of what is wrong.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

// Whether the folder has the files that load_tokenizer() looks for.
bool has_tokenizer(const std::filesystem::path& folder);

}  // namespace nadi::inline files
