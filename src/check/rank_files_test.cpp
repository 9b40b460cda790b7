#include "nadi/check/rank_files.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/check/group_members.h"
#include "nadi/check/traces_for_tests.h"

namespace nadi {
namespace {

TEST(RankFiles, FindTheRankInTheName) {
  struct Case {
    const char* path;
    std::optional<std::int64_t> rank;
    const char* groups;
  };
  for (const Case& entry :
       {Case{"out/run.3.et", 3, "out/run.groups.json"}, Case{"run.12.json.gz", 12, "run.groups.json"},
        Case{"a/run_rank7.et", 7, "a/run_rank.groups.json"}, Case{"run_5.et.zst", 5, "run.groups.json"},
        Case{"gpt2.et", std::nullopt, "gpt2.groups.json"}, Case{"run.et", std::nullopt, "run.groups.json"},
        Case{"7.et", std::nullopt, "7.groups.json"}}) {
    const RankFileName name = parse_rank_file_name(entry.path);
    EXPECT_EQ(name.rank, entry.rank) << entry.path;
    EXPECT_EQ(name.groups_file, entry.groups) << entry.path;
  }
  EXPECT_EQ(parse_rank_file_name("out/run.3.et").run, parse_rank_file_name("out/run.10.et").run);
  EXPECT_NE(parse_rank_file_name("out/run.3.et").run, parse_rank_file_name("run.3.et").run);
  EXPECT_NE(parse_rank_file_name("a.3.et").run, parse_rank_file_name("a.3.json").run);
}

TEST(GroupMembers, AreReadFromTheFileOfGroups) {
  const FolderForTests folder;
  write_file(folder / "a.groups.json", R"({"1": [0, 1], "12": [3]})");
  const GroupMembers groups = read_group_members(folder / "a.groups.json");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups.at("1"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(groups.at("12"), (std::vector<std::int64_t>{3}));
  for (const char* bad : {R"({"0": [0]})", R"({"a": [0]})", R"({"1": []})", R"({"1": [0, 0]})",
                          R"({"1": [-1]})", R"({"1": ["0"]})", R"([])", R"({"1": [0)"}) {
    write_file(folder / "b.groups.json", bad);
    EXPECT_THROW(read_group_members(folder / "b.groups.json"), Error) << bad;
  }
}

}  // namespace
}  // namespace nadi
