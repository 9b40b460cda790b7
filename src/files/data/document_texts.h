// The documents of a dataset as text.
//
//   DocumentTexts texts(dataset, tokenizer);
//   for (const std::string& text : texts.of(7)) print(text);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nadi::inline files {

class IndexedDataset;
class Tokenizer;

class DocumentTexts {
 public:
  // Dataset and tokenizer must outlive this.
  DocumentTexts(const IndexedDataset& dataset, const Tokenizer& tokenizer)
      : dataset_(dataset), tokenizer_(tokenizer) {}

  // One text per sequence, without the token that ends a document. Error (input), with the place of the
  // token, for a token that the tokenizer does not have.
  std::vector<std::string> of(std::int64_t document);

  // How many of the texts so far are not UTF-8.
  std::int64_t broken() const { return broken_; }

 private:
  const IndexedDataset& dataset_;
  const Tokenizer& tokenizer_;
  std::int64_t broken_ = 0;
};

}  // namespace nadi::inline files
