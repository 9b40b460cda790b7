#include "nadi/data/tokenizer_check.h"

#include <optional>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {
namespace {

bool has_ordinary_token(const Tokenizer& tokenizer) {
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.is_special(id)) return true;
  }
  return false;
}

}  // namespace

std::string vocabulary_misfit(const Tokenizer& tokenizer, std::int64_t model_vocabulary) {
  const std::int64_t tokens = tokenizer.vocabulary_size();
  if (tokens <= model_vocabulary) return "";
  return format("the tokenizer has {} tokens, but the vocabulary of the model has {}", tokens,
                model_vocabulary);
}

void check_vocabulary(const Tokenizer& tokenizer, std::int64_t model_vocabulary) {
  const std::string misfit = vocabulary_misfit(tokenizer, model_vocabulary);
  if (misfit.empty()) return;
  const std::int64_t tokens = tokenizer.vocabulary_size();
  throw input_error({}, misfit,
                    format("use the tokenizer that belongs to the model, or set vocab_size to {} or more in "
                           "the configuration of the model",
                           tokens));
}

std::string special_tokens_misfit(const Tokenizer& tokenizer, Objective objective) {
  if (objective == Objective::kNextToken) return "";
  const SpecialTokens& special = tokenizer.special_tokens();
  std::string missing;
  const auto require = [&](const std::optional<TokenId>& token, std::string_view name) {
    if (!token) missing += format("{}{}", missing.empty() ? "" : ", no ", name);
  };
  require(special.classify, "[CLS]");
  require(special.separate, "[SEP]");
  require(special.mask, "[MASK]");
  if (!missing.empty()) return format("the tokenizer has no {}: BERT needs that", missing);
  if (!has_ordinary_token(tokenizer))
    return "the tokenizer has special tokens only: there is nothing that could be predicted";
  return "";
}

void check_special_tokens(const Tokenizer& tokenizer, Objective objective) {
  const std::string misfit = special_tokens_misfit(tokenizer, objective);
  if (!misfit.empty())
    throw input_error({}, misfit, "use a WordPiece tokenizer whose vocabulary has [CLS], [SEP] and [MASK]");
}

}  // namespace nadi::inline files
