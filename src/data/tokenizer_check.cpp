#include "nadi/data/tokenizer_check.h"

#include <optional>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/tokenizer.h"

namespace nadi {
namespace {

bool has_ordinary_token(const Tokenizer& tokenizer) {
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.is_special(id)) return true;
  }
  return false;
}

}  // namespace

void check_vocabulary(const Tokenizer& tokenizer, std::int64_t model_vocabulary) {
  const std::int64_t tokens = tokenizer.vocabulary_size();
  if (tokens <= model_vocabulary) return;
  throw input_error(
      {},
      format("the tokenizer has {} tokens, but the vocabulary of the model has {}", tokens, model_vocabulary),
      format("use the tokenizer that belongs to the model, or set vocab_size to {} or more in "
             "the configuration of the model",
             tokens));
}

void check_special_tokens(const Tokenizer& tokenizer, Objective objective) {
  if (objective == Objective::kNextToken) return;
  const SpecialTokens& special = tokenizer.special_tokens();
  std::string missing;
  const auto require = [&](const std::optional<TokenId>& token, std::string_view name) {
    if (!token) missing += format("{}{}", missing.empty() ? "" : ", no ", name);
  };
  require(special.classify, "[CLS]");
  require(special.separate, "[SEP]");
  require(special.mask, "[MASK]");
  if (!missing.empty())
    throw input_error({}, format("the tokenizer has no {}: BERT needs that", missing),
                      "use a WordPiece tokenizer whose vocabulary has [CLS], [SEP] and [MASK]");
  if (!has_ordinary_token(tokenizer))
    throw input_error({}, "the tokenizer has special tokens only: there is nothing that could be predicted");
}

}  // namespace nadi
