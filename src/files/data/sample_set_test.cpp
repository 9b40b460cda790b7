#include "nadi/data/sample_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/base/error.h"
#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/data/squad.h"
#include "nadi/testing/source_folder.h"
#include "nadi/testing/temporary_file.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// One question about each context.
SquadSet make_set(const std::vector<std::pair<std::string, std::string>>& questions_and_contexts) {
  SquadSet set;
  for (const auto& [question, context] : questions_and_contexts) {
    set.questions.push_back({.id = "", .text = question, .paragraph = set.paragraphs.size()});
    set.paragraphs.push_back({.title = "", .context = context});
  }
  return set;
}

SampleSet next_token_samples(const SquadSet& set, std::int64_t seq_length,
                             const Tokenizer& tokenizer = ByteTokenizer::gpt2()) {
  return make_samples(set, tokenizer, {Objective::kNextToken, seq_length});
}

SampleSet masked_samples(const SquadSet& set, std::int64_t seq_length) {
  return make_samples(set, ByteTokenizer::bert(), {Objective::kMaskedToken, seq_length});
}

TEST(SampleSet, NextTokenIsQuestionSpaceContextEnd) {
  const SampleSet samples = next_token_samples(make_set({{"q?", "ctx"}}), 10);
  ASSERT_EQ(samples.size(), 1);
  EXPECT_THAT(samples.tokens(0), ElementsAre('q', '?', ' ', 'c', 't', 'x', 256));
  EXPECT_EQ(samples.first_part(0), 7);
  EXPECT_EQ(samples.seq_length(), 10);
  EXPECT_EQ(samples.statistics().truncated, 0);
}

TEST(SampleSet, NextTokenStartsWithTheTokenForTheBeginning) {
  const SampleSet samples = next_token_samples(make_set({{"q", "c"}}), 10, ByteTokenizer::llama());
  EXPECT_THAT(samples.tokens(0), ElementsAre(256, 'q', ' ', 'c', 257));
  // One token for both, as Hugging Face's GPT-2 has it, is not put in front.
  const ByteTokenizer both({.begin = 256, .end = 256}, 257);
  EXPECT_THAT(next_token_samples(make_set({{"q", "c"}}), 10, both).tokens(0),
              ElementsAre('q', ' ', 'c', 256));
}

TEST(SampleSet, NextTokenIsCutAtTheEnd) {
  EXPECT_THAT(next_token_samples(make_set({{"q?", "ctx"}}), 4).tokens(0), ElementsAre('q', '?', ' ', 'c'));
  // Only the token for the end has no room.
  EXPECT_THAT(next_token_samples(make_set({{"q?", "c"}}), 4).tokens(0), ElementsAre('q', '?', ' ', 'c'));
}

TEST(SampleSet, MaskedTokenHasTwoParts) {
  const SampleSet samples = masked_samples(make_set({{"q?", "ctx"}}), 10);
  EXPECT_THAT(samples.tokens(0), ElementsAre(258, 'q', '?', 259, 'c', 't', 'x', 259));
  EXPECT_EQ(samples.first_part(0), 4);
}

TEST(SampleSet, MaskedTokenCutsTheLongerText) {
  const auto tokens = [](const char* question, const char* context) {
    const SampleSet samples = masked_samples(make_set({{question, context}}), 7);  // 4 for the two texts
    const auto sample = samples.tokens(0);
    EXPECT_EQ(samples.statistics().truncated, 1);
    return std::vector<TokenId>(sample.begin(), sample.end());
  };
  EXPECT_THAT(tokens("q", "context"), ElementsAre(258, 'q', 259, 'c', 'o', 'n', 259));
  EXPECT_THAT(tokens("question", "c"), ElementsAre(258, 'q', 'u', 'e', 259, 'c', 259));
  EXPECT_THAT(tokens("question", "context"), ElementsAre(258, 'q', 'u', 259, 'c', 'o', 259));
}

TEST(SampleSet, CountsWhatItHas) {
  // Lengths with space and end: 2 + 1 + 3 + 1 = 7, 1 + 1 + 1 + 1 = 4 and 1 + 1 + 8 + 1 = 11, cut to 8.
  const SampleSet samples = next_token_samples(make_set({{"q?", "ctx"}, {"q", "c"}, {"q", "12345678"}}), 8);
  const SampleStatistics& statistics = samples.statistics();
  EXPECT_EQ(statistics.samples, 3);
  EXPECT_EQ(statistics.tokens, 7 + 4 + 8);
  EXPECT_EQ(statistics.longest, 11);
  EXPECT_EQ(statistics.truncated, 1);
  EXPECT_EQ(statistics.dropped, 0);
  EXPECT_DOUBLE_EQ(statistics.mean_length(), 19.0 / 3);
  EXPECT_THAT(samples.tokens(1), ElementsAre('q', ' ', 'c', 256));
}

TEST(SampleSet, QuestionsOfAParagraphShareItsContext) {
  SquadSet set = make_set({{"a", "x"}, {"b", "y"}});
  set.questions.push_back({.id = "", .text = "c", .paragraph = 1});
  set.questions.push_back({.id = "", .text = "d", .paragraph = 0});
  const SampleSet samples = next_token_samples(set, 8);
  EXPECT_THAT(samples.tokens(2), ElementsAre('c', ' ', 'y', 256));
  EXPECT_THAT(samples.tokens(3), ElementsAre('d', ' ', 'x', 256));
}

TEST(SampleSet, DropsAndCountsWhatHasNothingToPredict) {
  const SampleSet samples = masked_samples(make_set({{"", ""}, {"q", ""}}), 8);
  EXPECT_EQ(samples.size(), 1);
  EXPECT_EQ(samples.statistics().dropped, 1);
  EXPECT_THAT(samples.tokens(0), ElementsAre(258, 'q', 259, 259));
  EXPECT_THROW(masked_samples(make_set({{"", ""}}), 8), Error);
}

TEST(SampleSet, HasTheTokensOfTheJoinedText) {
  const std::filesystem::path data = shared_data().string();
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no SQuAD and no vocabulary of GPT-2 at " << data;
  const TemporaryFile empty("empty", "");  // for its folder
  const std::filesystem::path folder = empty.path().parent_path();
  std::filesystem::create_symlink(data / "vocab" / "gpt2-vocab.json", folder / "vocab.json");
  std::filesystem::create_symlink(data / "vocab" / "gpt2-merges.txt", folder / "merges.txt");
  const auto tokenizer = load_tokenizer(folder);
  const SquadSet set = read_squad(data / "squad" / "dev-v2.0-excerpt.json");
  const SampleSet samples = next_token_samples(set, 4096, *tokenizer);
  ASSERT_EQ(samples.size(), 1407);
  for (std::size_t i = 0; i < set.questions.size(); i += 10) {
    const SquadQuestion& question = set.questions[i];
    std::vector<TokenId> joined =
        tokenizer->encode(question.text + " " + set.paragraphs[question.paragraph].context);
    joined.push_back(50256);  // <|endoftext|>
    EXPECT_THAT(samples.tokens(static_cast<std::int64_t>(i)), ElementsAreArray(joined)) << question.text;
  }
}

TEST(SampleSet, RefusesSequencesThatAreTooShort) {
  const SquadSet set = make_set({{"q", "c"}});
  EXPECT_NO_THROW(next_token_samples(set, 2));
  EXPECT_NO_THROW(masked_samples(set, 4));
  for (const auto& [objective, seq_length] :
       {std::pair{Objective::kNextToken, 1}, {Objective::kNextToken, -5}, {Objective::kMaskedToken, 3}}) {
    try {
      make_samples(set, ByteTokenizer::bert(), {objective, seq_length});
      FAIL() << "accepted " << seq_length;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.message(), HasSubstr("too short"));
    }
  }
}

TEST(SampleSet, RefusesATokenizerWithoutTheTokensItNeeds) {
  EXPECT_THROW(make_samples(make_set({{"q", "c"}}), ByteTokenizer::gpt2(), {Objective::kMaskedToken, 8}),
               Error);
}

}  // namespace
}  // namespace nadi::inline files
