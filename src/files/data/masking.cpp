#include "nadi/data/masking.h"

#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/random.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

constexpr float kChosen = 0.15F;
constexpr float kBecomeMask = 0.8F;
constexpr float kBecomeMaskOrOther = 0.9F;

constexpr std::uint64_t kChoiceSite = site_of("data.masking.choice");
constexpr std::uint64_t kChangeSite = site_of("data.masking.change");
constexpr std::uint64_t kTokenSite = site_of("data.masking.token");
constexpr std::uint64_t kFallbackSite = site_of("data.masking.fallback");

RandomKey random_key(const MaskingKey& key, std::uint64_t site) {
  return {.seed = key.seed, .step = static_cast<std::uint64_t>(key.epoch), .site = site};
}

// Positions have 32 bits (SampleSet's limit), samples the rest.
std::uint64_t element(const MaskingKey& key, std::size_t position) {
  return static_cast<std::uint64_t>(key.sample) << 32 | position;
}

// From 0 to count - 1.
std::size_t random_index(const RandomKey& key, std::uint64_t at, std::size_t count) {
  return static_cast<std::size_t>(random_uniform_double(key, at) * static_cast<double>(count));
}

}  // namespace

Masking::Masking(const Tokenizer& tokenizer)
    : mask_(tokenizer.special_tokens().mask.value()),
      special_(static_cast<std::size_t>(tokenizer.vocabulary_size())) {
  for (TokenId id = 0; id < tokenizer.vocabulary_size(); ++id) {
    special_[static_cast<std::size_t>(id)] = tokenizer.is_special(id);
    if (!tokenizer.is_special(id)) ordinary_.push_back(id);
  }
}

std::int64_t Masking::apply(const MaskingKey& key, std::span<TokenId> ids,
                            std::span<std::int32_t> targets) const {
  check(ids.size() == targets.size(), "masking: as many targets as tokens");
  const RandomKey choice = random_key(key, kChoiceSite);
  std::int64_t chosen = 0;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    targets[t] = static_cast<std::int32_t>(kIgnoredTarget);
    if (special_[static_cast<std::size_t>(ids[t])]) continue;
    if (random_uniform(choice, element(key, t)) >= kChosen) continue;
    targets[t] = ids[t];
    ++chosen;
  }
  if (chosen == 0) {
    const std::size_t t = any_position(key, ids);
    targets[t] = ids[t];
    chosen = 1;
  }
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (targets[t] != kIgnoredTarget) ids[t] = hidden(key, t, ids[t]);
  }
  return chosen;
}

TokenId Masking::hidden(const MaskingKey& key, std::size_t position, TokenId token) const {
  const std::uint64_t at = element(key, position);
  const float change = random_uniform(random_key(key, kChangeSite), at);
  if (change < kBecomeMask) return mask_;
  if (change >= kBecomeMaskOrOther) return token;
  return ordinary_[random_index(random_key(key, kTokenSite), at, ordinary_.size())];
}

std::size_t Masking::any_position(const MaskingKey& key, std::span<const TokenId> ids) const {
  std::vector<std::size_t> positions;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (!special_[static_cast<std::size_t>(ids[t])]) positions.push_back(t);
  }
  check(!positions.empty(), "masking: a sample of special tokens only");
  return positions[random_index(random_key(key, kFallbackSite), element(key, 0), positions.size())];
}

}  // namespace nadi::inline files
