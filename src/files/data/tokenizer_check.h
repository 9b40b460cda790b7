// Whether a tokenizer fits what it is to be used for. Asked before any text is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nadi::inline files {

class Tokenizer;

// What a model is trained to predict.
enum class Objective : std::uint8_t {
  kNextToken,    // GPT-2, Llama: each token from those before it
  kMaskedToken,  // BERT: hidden tokens from those around them
};

// Why a tokenizer that was found, and not asked for, does not fit: "" when it does.
std::string vocabulary_misfit(const Tokenizer& tokenizer, std::int64_t model_vocabulary);
std::string special_tokens_misfit(const Tokenizer& tokenizer, Objective objective);

// Error (input), naming both numbers, when the tokenizer has tokens that the model has no row for.
void check_vocabulary(const Tokenizer& tokenizer, std::int64_t model_vocabulary);

// Error (input), naming the tokens that are missing. kNextToken needs none, kMaskedToken needs [CLS], [SEP],
// [MASK], and a token that is not special.
void check_special_tokens(const Tokenizer& tokenizer, Objective objective);

}  // namespace nadi::inline files
