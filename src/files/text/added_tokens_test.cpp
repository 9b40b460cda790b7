#include "nadi/text/added_tokens.h"

#include <gtest/gtest.h>

namespace nadi::inline files {
namespace {

std::vector<std::pair<std::size_t, TokenId>> find_all(const AddedTokenFinder& finder, std::string_view text) {
  std::vector<std::pair<std::size_t, TokenId>> found;
  std::size_t from = 0;
  while (const auto match = finder.find(text, from)) {
    found.emplace_back(match->begin, match->id);
    from = match->end;
  }
  return found;
}

using Found = std::vector<std::pair<std::size_t, TokenId>>;

TEST(AddedTokenFinder, TakesTheFirstAndThenTheLongest) {
  const std::vector<AddedToken> tokens{
      {.text = "<|a|>", .id = 1}, {.text = "<|a|>b", .id = 2}, {.text = "<|end|>", .id = 3}};
  const AddedTokenFinder finder(tokens);
  EXPECT_EQ(find_all(finder, "x<|a|>c<|a|>b"), (Found{{1, 1}, {7, 2}}));
  EXPECT_EQ(find_all(finder, "<|end|><|end|>"), (Found{{0, 3}, {7, 3}}));
  EXPECT_EQ(find_all(finder, "<|<|a|><|en"), (Found{{2, 1}}));
  EXPECT_EQ(find_all(finder, ""), Found{});
}

TEST(AddedTokenFinder, FindsTokensThatBeginDifferently) {
  const std::vector<AddedToken> tokens{
      {.text = "[MASK]", .id = 1}, {.text = "<s>", .id = 2}, {.text = "é", .id = 3}};
  const AddedTokenFinder finder(tokens);
  EXPECT_EQ(find_all(finder, "é<s>[MASK][MASK"), (Found{{0, 3}, {2, 2}, {5, 1}}));
}

TEST(AddedTokenFinder, HasNothingToFind) {
  EXPECT_EQ(find_all(AddedTokenFinder({}), "<s>"), Found{});
}

TEST(AddedTokens, AreKnownByName) {
  const std::vector<AddedToken> tokens{{.text = "[PAD]", .id = 4}, {.text = "<|end_of_text|>", .id = 5}};
  const SpecialTokens special = named_special_tokens(tokens);
  EXPECT_EQ(special.padding, 4);
  EXPECT_EQ(special.end, 5);
  EXPECT_EQ(special.mask, std::nullopt);
}

}  // namespace
}  // namespace nadi::inline files
