#include "nadi/base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace nadi::inline ground {
namespace {

constexpr std::array<std::string_view, 5> kLinks{"ethernet", "infiniband", "nvlink3", "nvlink4", "pcie5"};
constexpr std::array<std::string_view, 3> kModels{"gpt2", "gpt3-175b", "Llama-2-7b"};

TEST(Nearest, FindsASlipOfTheKeyboard) {
  EXPECT_EQ(nearest("nvlnk4", kLinks), "nvlink4");          // one letter left out
  EXPECT_EQ(nearest("ehternet", kLinks), "ethernet");       // neighbours swapped: distance 1
  EXPECT_EQ(nearest("infinibandd", kLinks), "infiniband");  // one too many
  EXPECT_EQ(nearest("nvlink5", kLinks), "nvlink3");         // 3 and 4 are equally near: the first
}

TEST(Nearest, IgnoresCase) {
  EXPECT_EQ(nearest("GPT2", kModels), "gpt2");
  EXPECT_EQ(nearest("llama-2-7B", kModels), "Llama-2-7b");
}

TEST(Nearest, TakesTheBeginningOfALongName) {
  EXPECT_EQ(nearest("gpt3", kModels), "gpt3-175b");  // though 'gpt2' is one letter away
  EXPECT_EQ(nearest("llama", kModels), "Llama-2-7b");
}

TEST(Nearest, GivesUpOnTheUnrelated) {
  EXPECT_EQ(nearest("bert-large", kModels), std::nullopt);
  EXPECT_EQ(nearest("", kModels), std::nullopt);
  EXPECT_EQ(nearest("a", std::vector<std::string>{"b"}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kModels), std::nullopt);
  EXPECT_EQ(nearest("gpt2", std::vector<std::string>{}), std::nullopt);
}

TEST(DidYouMean, GivesTheGuessAndTheList) {
  EXPECT_EQ(did_you_mean("nvlnk4", kLinks),
            "did you mean 'nvlink4'? known: ethernet, infiniband, nvlink3, nvlink4, pcie5");
  EXPECT_EQ(did_you_mean("zzz", kModels), "known: gpt2, gpt3-175b, Llama-2-7b");
  EXPECT_EQ(did_you_mean("zzz", std::vector<std::string>{}), "");
}

TEST(DidYouMean, CutsALongList) {
  std::vector<std::string> known;
  for (int i = 0; i < 27; ++i) known.push_back("k" + std::to_string(i));
  EXPECT_TRUE(did_you_mean("zzzz", known).ends_with("k18, k19, ... and 7 more"));  // 27 - 20
}

}  // namespace
}  // namespace nadi::inline ground
