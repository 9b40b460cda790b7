#include "nadi/trace/rank_files.h"

#include <gtest/gtest.h>

namespace nadi::inline traces {
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

}  // namespace
}  // namespace nadi::inline traces
