#include "nadi/text/bpe_merger.h"

#include <gtest/gtest.h>

#include <random>

namespace nadi::inline files {
namespace {

// Bytes are their own tokens; merged tokens have the numbers from 256 on.
std::array<TokenId, 256> plain_bytes() {
  std::array<TokenId, 256> tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>(i);
  return tokens;
}

std::vector<TokenId> encode(const BpeMerger& merger, std::string_view text) {
  std::vector<TokenId> ids;
  merger.encode(text, ids);
  return ids;
}

std::vector<TokenId> encode_reference(const BpeMerger& merger, std::string_view text) {
  std::vector<TokenId> ids;
  merger.encode_reference(text, ids);
  return ids;
}

using Ids = std::vector<TokenId>;

TEST(BpeMerger, MergesWhatWasLearntFirst) {
  // bc before ab: "abc" is a + bc, although ab stands further left.
  const BpeMerger merger(plain_bytes(), {{'b', 'c', 256}, {'a', 'b', 257}, {257, 'd', 258}});
  EXPECT_EQ(encode(merger, ""), Ids{});
  EXPECT_EQ(encode(merger, "x"), Ids{'x'});
  EXPECT_EQ(encode(merger, "abc"), (Ids{'a', 256}));
  EXPECT_EQ(encode(merger, "abd"), (Ids{258}));
  EXPECT_EQ(encode(merger, "ababc"), (Ids{257, 'a', 256}));
}

TEST(BpeMerger, MergesRunsFromTheLeft) {
  const BpeMerger merger(plain_bytes(), {{'a', 'a', 256}, {256, 256, 257}});
  EXPECT_EQ(encode(merger, "aaa"), (Ids{256, 'a'}));
  EXPECT_EQ(encode(merger, "aaaaaaa"), (Ids{257, 256, 'a'}));  // 7 = 4 + 2 + 1
  EXPECT_EQ(encode(merger, std::string(103, 'a')), encode_reference(merger, std::string(103, 'a')));
}

// Merges over three letters, learnt in an order that training would not produce, and pieces on both sides of
// the length at which encode() changes its method.
TEST(BpeMerger, AgreesWithTheReference) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Merge> merges;
    std::vector<TokenId> tokens{'a', 'b', 'c'};
    std::vector<std::pair<TokenId, TokenId>> pairs;
    for (int i = 0; i < 30; ++i) {
      const TokenId left = tokens[random() % tokens.size()];
      const TokenId right = tokens[random() % tokens.size()];
      if (std::find(pairs.begin(), pairs.end(), std::pair(left, right)) != pairs.end()) continue;
      pairs.emplace_back(left, right);
      const auto merged = static_cast<TokenId>(256 + merges.size());
      merges.push_back({left, right, merged});
      tokens.push_back(merged);
    }
    std::shuffle(merges.begin(), merges.end(), random);
    const BpeMerger merger(plain_bytes(), merges);
    for (std::size_t length = 0; length < 140; ++length) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 3);
      ASSERT_EQ(encode(merger, text), encode_reference(merger, text)) << text;
    }
  }
}

TEST(BpeMerger, TakesMegabytesWithoutASpace) {
  const BpeMerger merger(plain_bytes(), {{'a', 'b', 256}, {256, 256, 257}});
  std::string text;
  for (int i = 0; i < 500000; ++i) text += "ab";
  EXPECT_EQ(encode(merger, text), Ids(250000, 257));
}

}  // namespace
}  // namespace nadi::inline files
