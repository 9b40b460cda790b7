#include "nadi/convert/process_group_numbers.h"

#include <gtest/gtest.h>

namespace nadi::inline traces {
namespace {

TEST(GroupNumbers, ANameThatIsANumberIsKept) {
  GroupNumbers groups;
  EXPECT_EQ(groups.number("5", {0, 1}), 5);
  EXPECT_EQ(groups.number("5", {0, 1}), 5);
  EXPECT_EQ(groups.number("1", {0, 1}), 1);  // the same ranks, another group
  EXPECT_EQ(groups.to_json(), "{\n  \"1\": [0, 1],\n  \"5\": [0, 1]\n}\n");
}

TEST(GroupNumbers, OtherNamesGetTheLowestThatAreFree) {
  GroupNumbers groups;
  EXPECT_EQ(groups.number("2", {0, 2}), 2);
  EXPECT_EQ(groups.number("f2a8", {0, 1}), 1);
  EXPECT_EQ(groups.number("", {2, 3}), 3);
  EXPECT_EQ(groups.number("2", {1, 3}), 4);  // another rank calls another group so
  EXPECT_EQ(groups.number("99999999999", {4, 5}), 5);
  EXPECT_EQ(groups.size(), 5);
}

TEST(GroupNumbers, GroupsOfUnknownRanksAreNotListed) {
  GroupNumbers groups;
  EXPECT_EQ(groups.number("3", {}), 3);
  EXPECT_EQ(groups.to_json(), "{\n}\n");
}

}  // namespace
}  // namespace nadi::inline traces
