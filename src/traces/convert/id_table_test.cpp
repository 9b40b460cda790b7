#include "nadi/convert/id_table.h"

#include <gtest/gtest.h>

namespace nadi::inline traces {
namespace {

TEST(IdTable, FindsIdsThatLieTogether) {
  IdTable table(100, 110, 3);
  table.set(100, 1);
  table.set(110, 2);
  table.set(105, 3);
  table.set(105, 4);
  table.finish();
  EXPECT_EQ(table.find(100), 1);
  EXPECT_EQ(table.find(110), 2);
  EXPECT_EQ(table.find(105), 4);
  EXPECT_EQ(table.find(101), IdTable::kNone);
  EXPECT_EQ(table.find(99), IdTable::kNone);
  EXPECT_EQ(table.find(111), IdTable::kNone);
}

TEST(IdTable, AndIdsThatLieFarApart) {
  constexpr std::uint64_t kFar = 0xffff'ffff'ffff'fff0;
  IdTable table(1, kFar, 3);
  table.set(kFar, 1);
  table.set(1, 2);
  table.set(1, 3);
  table.finish();
  EXPECT_EQ(table.find(kFar), 1);
  EXPECT_EQ(table.find(1), 3);
  EXPECT_EQ(table.find(2), IdTable::kNone);
  EXPECT_EQ(table.find(kFar + 1), IdTable::kNone);
}

TEST(IdTable, AnEmptyOneFindsNothing) {
  EXPECT_EQ(IdTable().find(0), IdTable::kNone);
  EXPECT_EQ(IdTable(~std::uint64_t{0}, 0, 0).find(0), IdTable::kNone);
}

}  // namespace
}  // namespace nadi::inline traces
