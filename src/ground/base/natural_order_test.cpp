#include "nadi/base/natural_order.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nadi::inline ground {
namespace {

TEST(NaturalOrder, NumbersCountAsNumbers) {
  std::vector<std::string> names{"h.10.mlp", "h.2.mlp", "h.10", "h.1", "ln_f",
                                 "h.2.attn", "h.02",    "h.2",  "h"};
  std::ranges::sort(names, natural_less);
  EXPECT_THAT(names, testing::ElementsAre("h", "h.1", "h.02", "h.2", "h.2.attn", "h.2.mlp", "h.10",
                                          "h.10.mlp", "ln_f"));
}

TEST(NaturalOrder, NumbersOfAnyLength) {
  EXPECT_TRUE(natural_less("x99999999999999999999999", "x100000000000000000000000"));
  EXPECT_FALSE(natural_less("x100000000000000000000000", "x99999999999999999999999"));
}

TEST(NaturalOrder, NothingIsBeforeItself) {
  for (const std::string_view name : {"", "a", "1", "a1b"}) EXPECT_FALSE(natural_less(name, name));
}

}  // namespace
}  // namespace nadi::inline ground
