#include "nadi/base/shorten_names.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

namespace nadi::inline ground {
namespace {

using testing::ElementsAre;

TEST(ShortenNames, AsOneWouldWhereTheyStayDistinct) {
  EXPECT_THAT(shorten_names({"short", "void kernel<float, 1>(int)", "void kernel<float, 1>(int)"}, 12),
              ElementsAre("short", "void k…(int)", "void k…(int)"));
}

TEST(ShortenNames, KeepThePlaceWhereTheyDiffer) {
  const std::string start = "void at::native::vectorized_elementwise_kernel<4, at::native::";
  const std::string end = "<float>, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)";
  const std::vector<std::string> names = shorten_names({start + "Add" + end, start + "Mul" + end}, 40);
  EXPECT_THAT(names[0], testing::HasSubstr("Add"));
  EXPECT_THAT(names[1], testing::HasSubstr("Mul"));
  EXPECT_THAT(names[0], testing::StartsWith("void at::"));
  EXPECT_THAT(names[0], testing::EndsWith("3ul>)"));
}

TEST(ShortenNames, NumbersWhereNothingElseHelps) {
  // They differ in two places, of which the short name has room for one each time.
  const std::string gap(100, 'x');
  const std::vector<std::string> names =
      shorten_names({"é" + gap + "a" + gap + "é", "é" + gap + "b" + gap + "é"}, 12);
  EXPECT_NE(names[0], names[1]);
  EXPECT_THAT(names[1], testing::EndsWith("#2"));
}

std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (const char letter : text) count += (static_cast<unsigned char>(letter) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

TEST(ShortenNames, StayDistinctWhateverTheyAre) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> names;
    const std::string common(random() % 60, 'c');
    for (int i = 0; i < 12; ++i) {
      std::string name = common;
      for (std::uint64_t n = random() % 4; n > 0; --n)
        name += std::string(random() % 30, 'm') + static_cast<char>('a' + random() % 3);
      names.push_back(name + common);
    }
    const std::size_t most = 12 + random() % 40;
    const std::vector<std::string> shortened = shorten_names(names, most);
    ASSERT_EQ(shortened.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_LE(characters(shortened[i]), most);
      for (std::size_t k = 0; k < i; ++k)
        EXPECT_EQ(shortened[i] == shortened[k], names[i] == names[k]) << names[i] << "\n" << names[k];
    }
  }
}

}  // namespace
}  // namespace nadi::inline ground
