#include "nadi/data/document_encoder.h"

#include <utility>

#include "nadi/data/line_blocks.h"

namespace nadi::inline files {
namespace {

// Megatron cuts longer texts into pieces of so many characters before it looks for sentences, so that a
// sentence ends there in any case.
constexpr std::size_t kSplitAtOnce = 1'000'000;

// The first bytes of `text` that are `characters` characters, or all of it.
std::string_view first_characters(std::string_view text, std::size_t characters) {
  if (text.size() <= characters) return text;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && characters-- == 0) break;
  }
  return text.substr(0, at);
}

}  // namespace

DocumentEncoder::DocumentEncoder(const Tokenizer& tokenizer, DocumentEncoderOptions options)
    : tokenizer_(tokenizer), options_(std::move(options)), parser_(options_.keys) {}

void DocumentEncoder::encode(const LineBlock& block, const std::string& file, EncodedDocuments& documents) {
  documents.line_bytes.clear();
  documents.keys.resize(options_.keys.size());
  for (EncodedTexts& texts : documents.keys) {
    texts.tokens.clear();
    texts.lengths.clear();
    texts.sequences.clear();
  }
  std::string_view rest = block.text;
  for (Place place{.file = file, .line = block.first_line}; !rest.empty(); ++*place.line) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const std::size_t taken = end == std::string_view::npos ? rest.size() : end + 1;
    rest.remove_prefix(taken);
    documents.line_bytes.push_back(static_cast<std::int64_t>(taken));
    const std::span<const JsonText> texts = parser_.parse(line, place);
    for (std::size_t key = 0; key < texts.size(); ++key) add_document(texts[key], documents.keys[key]);
  }
}

void DocumentEncoder::add_document(const JsonText& text, EncodedTexts& texts) {
  const std::size_t before = texts.lengths.size();
  if (options_.split_sentences && !text.is_list) {
    sentences_.clear();
    for (std::string_view rest = text.pieces[0]; !rest.empty();) {
      const std::string_view piece = first_characters(rest, kSplitAtOnce);
      split_sentences(piece, options_.gap, sentences_);
      rest.remove_prefix(piece.size());
    }
    for (const std::string_view sentence : sentences_) add_sequence(sentence, texts);
  } else {
    for (const std::string_view piece : text.pieces) add_sequence(piece, texts);
  }
  const std::size_t added = texts.lengths.size() - before;
  if (added > 0 && options_.end_of_document) {
    texts.tokens.push_back(*options_.end_of_document);
    ++texts.lengths.back();
  }
  texts.sequences.push_back(static_cast<std::int64_t>(added));
}

void DocumentEncoder::add_sequence(std::string_view text, EncodedTexts& texts) const {
  const std::size_t before = texts.tokens.size();
  if (options_.before) texts.tokens.push_back(*options_.before);
  tokenizer_.encode(text, texts.tokens);
  if (options_.after) texts.tokens.push_back(*options_.after);
  const std::size_t added = texts.tokens.size() - before;
  if (added > 0) texts.lengths.push_back(static_cast<std::int64_t>(added));
}

}  // namespace nadi::inline files
