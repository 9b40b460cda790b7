// A table holds the count of every pair and the words that have, or once had, the pair. A heap holds pairs
// with a count that was right when they were pushed. An entry that comes up with a count that is right no
// longer is pushed again with the right one; counts that grow are pushed when they do. So the top, once its
// count is right, is the most frequent pair. A merge touches only the words of its pair, and changes only
// counts of pairs next to the places of the merge.

#include "nadi/text/merge_learner.h"

#include <queue>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"

namespace nadi::inline files {
namespace {

using Pair = std::uint64_t;

Pair pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

struct PairHash {
  std::size_t operator()(Pair pair) const { return static_cast<std::size_t>(pair * kGoldenRatio64 >> 20); }
};

struct PairRecord {
  std::int64_t count = 0;
  std::int64_t pushed = 0;           // the largest count that the heap has it with
  std::vector<std::uint32_t> words;  // may name a word twice, or one that lost the pair
};

struct Candidate {
  std::int64_t count;
  Pair pair;
  // Less important than the other.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Learner {
 public:
  explicit Learner(std::vector<CountedWord> words) : words_(std::move(words)) {
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
      const std::vector<TokenId>& symbols = words_[word].symbols;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) change(symbols[i], symbols[i + 1], word, +1);
    }
    push_grown();
  }

  // The most frequent pair, if it is frequent enough.
  std::optional<Pair> best(std::int64_t minimum_count) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      const auto entry = pairs_.find(top.pair);
      if (entry != pairs_.end() && entry->second.count == top.count)
        return top.count >= minimum_count ? std::optional(top.pair) : std::nullopt;
      queue_.pop();
      if (entry == pairs_.end() || entry->second.pushed != top.count) continue;
      entry->second.pushed = entry->second.count;
      if (entry->second.count > 0) queue_.push({entry->second.count, top.pair});
    }
    return std::nullopt;
  }

  void merge(Pair pair, TokenId merged) {
    const auto left = static_cast<TokenId>(pair >> 32);
    const auto right = static_cast<TokenId>(pair & 0xFFFFFFFF);
    const std::vector<std::uint32_t> affected = std::move(pairs_[pair].words);
    for (const std::uint32_t word : affected) merge_in_word(word, left, right, merged);
    pairs_.erase(pair);
    push_grown();
  }

 private:
  void change(TokenId left, TokenId right, std::uint32_t word, int sign) {
    const Pair pair = pair_of(left, right);
    PairRecord& record = pairs_[pair];
    record.count += sign * words_[word].count;
    if (sign < 0) return;
    if (record.words.empty() || record.words.back() != word) record.words.push_back(word);
    grown_.push_back(pair);
  }

  void merge_in_word(std::uint32_t word, TokenId left, TokenId right, TokenId merged) {
    std::vector<TokenId>& symbols = words_[word].symbols;
    std::size_t out = 0;
    for (std::size_t in = 0; in < symbols.size(); ++out) {
      if (in + 1 == symbols.size() || symbols[in] != left || symbols[in + 1] != right) {
        symbols[out] = symbols[in++];
        continue;
      }
      if (out > 0) {
        change(symbols[out - 1], left, word, -1);
        change(symbols[out - 1], merged, word, +1);
      }
      if (in + 2 < symbols.size()) {
        change(right, symbols[in + 2], word, -1);
        change(merged, symbols[in + 2], word, +1);
      }
      symbols[out] = merged;
      in += 2;
    }
    symbols.resize(out);
  }

  void push_grown() {
    for (const Pair pair : grown_) {
      const auto entry = pairs_.find(pair);
      if (entry == pairs_.end() || entry->second.count <= entry->second.pushed) continue;
      entry->second.pushed = entry->second.count;
      queue_.push({entry->second.count, pair});
    }
    grown_.clear();
  }

  std::vector<CountedWord> words_;
  std::unordered_map<Pair, PairRecord, PairHash> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> grown_;  // since the last push_grown(), maybe several times each
};

}  // namespace

void learn_merges(std::vector<CountedWord> words, std::int64_t minimum_count,
                  const std::function<std::optional<TokenId>(TokenId left, TokenId right)>& on_merge) {
  check(minimum_count > 0, "pairs that do not occur cannot be merged");
  Learner learner(std::move(words));
  while (const auto pair = learner.best(minimum_count)) {
    const auto merged = on_merge(static_cast<TokenId>(*pair >> 32), static_cast<TokenId>(*pair & 0xFFFFFFFF));
    if (!merged) return;
    learner.merge(*pair, *merged);
  }
}

}  // namespace nadi::inline files
