#include "nadi/data/document_texts.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/indexed_dataset.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {

std::vector<std::string> DocumentTexts::of(std::int64_t document) {
  std::vector<std::string> texts;
  const std::int64_t last = dataset_.first_sequence(document + 1);
  for (std::int64_t i = dataset_.first_sequence(document); i < last; ++i) {
    std::vector<TokenId> ids = dataset_.tokens(i);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] >= tokenizer_.vocabulary_size())
        throw input_error(
            dataset_.place_of(i, static_cast<std::int64_t>(t)),
            format("token {} is not one of the tokenizer's {}", ids[t], tokenizer_.vocabulary_size()),
            "use the tokenizer that the dataset was made with");
    }
    if (i + 1 == last && !ids.empty() && ids.back() == tokenizer_.special_tokens().end) ids.pop_back();
    texts.push_back(tokenizer_.decode(ids));
    broken_ += find_invalid_utf8(texts.back()) != std::string_view::npos ? 1 : 0;
  }
  return texts;
}

}  // namespace nadi::inline files
