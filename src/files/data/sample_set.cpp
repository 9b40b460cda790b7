#include "nadi/data/sample_set.h"

#include <algorithm>
#include <limits>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/data/squad.h"

namespace nadi::inline files {
namespace {

// One sample while it is made.
struct Draft {
  std::vector<TokenId> tokens;
  std::size_t first_part = 0;
  std::size_t whole = 0;  // tokens before cutting
  bool has_target = false;
};

using Tokens = std::span<const TokenId>;

void append(std::vector<TokenId>& to, Tokens tokens) {
  to.insert(to.end(), tokens.begin(), tokens.end());
}

void draft_next_token(const SpecialTokens& special, std::size_t room, Tokens question, Tokens context,
                      Draft& draft) {
  const auto add_if_any = [&](const std::optional<TokenId>& token) {
    if (token) draft.tokens.push_back(*token);
  };
  if (special.begin != special.end) add_if_any(special.begin);
  append(draft.tokens, question);
  append(draft.tokens, context);
  add_if_any(special.end);
  draft.whole = draft.tokens.size();
  draft.tokens.resize(std::min(draft.whole, room));
  draft.first_part = draft.tokens.size();
  draft.has_target = draft.tokens.size() > 1;
}

void draft_masked_token(const Tokenizer& tokenizer, std::size_t room, Tokens question, Tokens context,
                        Draft& draft) {
  constexpr std::size_t kAdded = 3;  // [CLS], [SEP], [SEP]
  const SpecialTokens& special = tokenizer.special_tokens();
  draft.whole = question.size() + context.size() + kAdded;
  room -= kAdded;
  if (question.size() + context.size() > room) {
    const std::size_t half = room / 2;
    const std::size_t question_room = question.size() <= half         ? question.size()
                                      : context.size() <= room - half ? room - context.size()
                                                                      : half;
    question = question.first(question_room);
    context = context.first(room - question_room);
  }
  draft.tokens.push_back(*special.classify);
  append(draft.tokens, question);
  draft.tokens.push_back(*special.separate);
  draft.first_part = draft.tokens.size();
  append(draft.tokens, context);
  draft.tokens.push_back(*special.separate);
  draft.has_target = std::any_of(draft.tokens.begin(), draft.tokens.end(),
                                 [&](TokenId token) { return !tokenizer.is_special(token); });
}

void check_options(const SampleOptions& options) {
  const std::int64_t least = options.objective == Objective::kNextToken ? 2 : 4;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (options.seq_length < least)
    throw usage_error(format("a sequence length of {} is too short", options.seq_length),
                      format("it takes {} tokens or more", least));
  if (options.seq_length > kMost)
    throw usage_error(format("a sequence length of {} is too long", options.seq_length));
}

}  // namespace

double SampleStatistics::mean_length() const {
  return samples == 0 ? 0 : static_cast<double>(tokens) / static_cast<double>(samples);
}

std::span<const TokenId> SampleSet::tokens(std::int64_t sample) const {
  check(sample >= 0 && sample < size(), "a sample number is outside of its set");
  const auto index = static_cast<std::size_t>(sample);
  const std::int64_t begin = index == 0 ? 0 : ends_[index - 1];
  return Tokens(tokens_).subspan(static_cast<std::size_t>(begin),
                                 static_cast<std::size_t>(ends_[index] - begin));
}

SampleSet make_samples(const SquadSet& set, const Tokenizer& tokenizer, const SampleOptions& options) {
  check_options(options);
  check_special_tokens(tokenizer, options.objective);
  const bool next_token = options.objective == Objective::kNextToken;
  const auto room = static_cast<std::size_t>(options.seq_length);
  SampleSet samples(options);
  SampleStatistics& statistics = samples.statistics_;
  std::vector<TokenId> question_tokens;
  std::vector<TokenId> context_tokens;
  std::optional<std::size_t> encoded_paragraph;  // whose tokens context_tokens has
  Draft draft;
  for (const SquadQuestion& question : set.questions) {
    if (encoded_paragraph != question.paragraph) {
      const std::string& context = set.paragraphs[question.paragraph].context;
      context_tokens.clear();
      tokenizer.encode(next_token ? " " + context : context, context_tokens);
      encoded_paragraph = question.paragraph;
    }
    question_tokens.clear();
    tokenizer.encode(question.text, question_tokens);
    draft.tokens.clear();
    if (next_token)
      draft_next_token(tokenizer.special_tokens(), room, question_tokens, context_tokens, draft);
    else
      draft_masked_token(tokenizer, room, question_tokens, context_tokens, draft);
    if (!draft.has_target) {
      ++statistics.dropped;
      continue;
    }
    ++statistics.samples;
    statistics.truncated += draft.whole > room ? 1 : 0;
    statistics.longest = std::max(statistics.longest, static_cast<std::int64_t>(draft.whole));
    append(samples.tokens_, draft.tokens);
    samples.ends_.push_back(static_cast<std::int64_t>(samples.tokens_.size()));
    samples.first_parts_.push_back(static_cast<std::int32_t>(draft.first_part));
  }
  statistics.tokens = static_cast<std::int64_t>(samples.tokens_.size());
  if (samples.size() == 0)
    throw input_error(
        {}, format("none of the {} questions gives a sample with a token to predict", set.questions.size()));
  return samples;
}

}  // namespace nadi::inline files
