#include "nadi/text/merge_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace nadi::inline files {
namespace {

using Pairs = std::vector<std::pair<TokenId, TokenId>>;

// New symbols are numbered from 1000 on; a pair keeps its symbol.
class Recorder {
 public:
  explicit Recorder(std::size_t most) : most_(most) {}

  std::optional<TokenId> operator()(TokenId left, TokenId right) {
    if (pairs.size() == most_) return std::nullopt;
    pairs.emplace_back(left, right);
    return symbols_.emplace(std::pair(left, right), static_cast<TokenId>(1000 + symbols_.size()))
        .first->second;
  }

  Pairs pairs;

 private:
  std::size_t most_;
  std::map<std::pair<TokenId, TokenId>, TokenId> symbols_;
};

Pairs learn(const std::vector<CountedWord>& words, std::size_t most, std::int64_t minimum_count = 1) {
  Recorder recorder(most);
  learn_merges(words, minimum_count, std::ref(recorder));
  return recorder.pairs;
}

// Counts everything anew before each merge. The oracle.
Pairs learn_reference(std::vector<CountedWord> words, std::size_t most, std::int64_t minimum_count) {
  Recorder recorder(most);
  for (;;) {
    std::map<std::pair<TokenId, TokenId>, std::int64_t> counts;
    for (const CountedWord& word : words) {
      for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i)
        counts[{word.symbols[i], word.symbols[i + 1]}] += word.count;
    }
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < minimum_count) return recorder.pairs;
    const auto [left, right] = best->first;
    const auto merged = recorder(left, right);
    if (!merged) return recorder.pairs;
    for (CountedWord& word : words) {
      std::vector<TokenId> symbols;
      for (std::size_t i = 0; i < word.symbols.size(); ++i) {
        const bool here =
            i + 1 < word.symbols.size() && word.symbols[i] == left && word.symbols[i + 1] == right;
        symbols.push_back(here ? *merged : word.symbols[i]);
        i += here;
      }
      word.symbols = symbols;
    }
  }
}

TEST(MergeLearner, TakesTheMostFrequentPair) {
  // low x5, lower x2, newest x6, widest x3 (the example of Sennrich et al., 2016), letters as numbers.
  const auto word = [](std::string_view text, std::int64_t count) {
    return CountedWord{{text.begin(), text.end()}, count};
  };
  const std::vector<CountedWord> words{word("low", 5), word("lower", 2), word("newest", 6),
                                       word("widest", 3)};
  // es 6+3, then (es)t 9, then lo 7, (lo)w 7, then ne 6 before ew 6 and w(est) 6 by their numbers: e < n < w,
  // so "ew" is first.
  EXPECT_EQ(learn(words, 5), (Pairs{{'e', 's'}, {1000, 't'}, {'l', 'o'}, {1002, 'w'}, {'e', 'w'}}));
}

TEST(MergeLearner, StopsAtTheMinimum) {
  const std::vector<CountedWord> words{{{1, 2}, 3}, {{3, 4}, 2}};
  EXPECT_EQ(learn(words, 10, 3), (Pairs{{1, 2}}));
  EXPECT_EQ(learn(words, 10, 4), Pairs{});
  EXPECT_EQ(learn({}, 10), Pairs{});
}

TEST(MergeLearner, AgreesWithCountingAnew) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<CountedWord> words(20);
    const unsigned letters = 1 + random() % 4;
    for (CountedWord& word : words) {
      word.count = 1 + random() % 5;
      for (std::size_t i = 0, length = random() % 12; i < length; ++i)
        word.symbols.push_back(static_cast<TokenId>(random() % letters));
    }
    ASSERT_EQ(learn(words, 60, 1 + round % 3), learn_reference(words, 60, 1 + round % 3))
        << "round " << round;
  }
}

}  // namespace
}  // namespace nadi::inline files
