#include "nadi/check/group_members.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/check/traces_for_tests.h"

namespace nadi::inline traces {
namespace {

TEST(GroupMembers, AreReadFromTheFileOfGroups) {
  const TemporaryFolder folder;
  write_text(folder / "a.groups.json", R"({"1": [0, 1], "12": [3]})");
  const GroupMembers groups = read_group_members(folder / "a.groups.json");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups.at("1"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(groups.at("12"), (std::vector<std::int64_t>{3}));
  for (const char* bad : {R"({"0": [0]})", R"({"a": [0]})", R"({"1": []})", R"({"1": [0, 0]})",
                          R"({"1": [-1]})", R"({"1": ["0"]})", R"([])", R"({"1": [0)"}) {
    write_text(folder / "b.groups.json", bad);
    EXPECT_THROW(read_group_members(folder / "b.groups.json"), Error) << bad;
  }
}

}  // namespace
}  // namespace nadi::inline traces
