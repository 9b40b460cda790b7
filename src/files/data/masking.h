// Hides tokens for BERT to predict (Devlin et al., "BERT", 2019, section 3.1): each token that is not special
// is chosen with probability 0.15, at least one per sample; of the chosen ones 80% become [MASK], 10% some
// other token, 10% stay as they are.
//
//   const Masking masking(tokenizer);
//   masking.apply({.seed = 1, .epoch = epoch, .sample = 7}, ids, targets);
//
// The choice is a function of seed, epoch, sample and position alone: not of the batch, nor of the rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

struct MaskingKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t sample = 0;
};

class Masking {
 public:
  // The tokenizer has passed check_special_tokens().
  explicit Masking(const Tokenizer& tokenizer);

  // Changes `ids` in place and writes `targets`, as long: the token that was there where one is chosen,
  // kIgnoredTarget elsewhere. Returns how many were chosen. There must be a token that is not special.
  std::int64_t apply(const MaskingKey& key, std::span<TokenId> ids, std::span<std::int32_t> targets) const;

 private:
  TokenId hidden(const MaskingKey& key, std::size_t position, TokenId token) const;
  std::size_t any_position(const MaskingKey& key, std::span<const TokenId> ids) const;

  TokenId mask_;
  std::vector<bool> special_;      // by token
  std::vector<TokenId> ordinary_;  // all that are not special
};

}  // namespace nadi::inline files
