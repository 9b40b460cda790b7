#include "nadi/cli/report_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi {
namespace {

using testing::HasSubstr;
using testing::Not;

ReportTable table_for_tests() {
  return {.name = "t",
          .title = "T",
          .columns = {{"name", "name", CellKind::kText},
                      {"time_ns", "time", CellKind::kTime},
                      {"share", "", CellKind::kShare},
                      {"hidden_ns", "hidden", CellKind::kTime, Shown::kToPrograms},
                      {"zero_ns", "zero", CellKind::kTime, Shown::kUnlessZero},
                      {"rate", "rate", CellKind::kByteRate}},
          .rows = {{std::string("a, \"b\""), std::int64_t{1'500'000}, 0.125, std::int64_t{7}, std::int64_t{0},
                    2.5e9},
                   {std::string("c"), std::int64_t{20}, ReportCell(), std::int64_t{8}, std::int64_t{0},
                    ReportCell()}}};
}

TEST(ReportTable, ForPeople) {
  EXPECT_EQ(table_text(table_for_tests(), {}),
            "name       time              rate\n"
            "a, \"b\"  1.50 ms  12.5%  2.50 GB/s\n"
            "c         20 ns      -          -\n");
  EXPECT_EQ(table_text(table_for_tests(), {.rows = 1}),
            "name       time              rate\n"
            "a, \"b\"  1.50 ms  12.5%  2.50 GB/s\n"
            "... and 1 more: --top 2\n");
}

TEST(ReportTable, ForPrograms) {
  EXPECT_EQ(table_csv(table_for_tests()),
            "name,time_ns,share,hidden_ns,zero_ns,rate\n"
            "\"a, \"\"b\"\"\",1500000,0.125,7,0,2500000000\n"
            "c,20,,8,0,\n");
  const Json json = table_json(table_for_tests());
  ASSERT_EQ(json.size(), 2);
  EXPECT_EQ(json[0]["time_ns"], 1'500'000);
  EXPECT_EQ(json[0]["zero_ns"], 0);
  EXPECT_EQ(json[1]["share"], nullptr);
}

TEST(ReportTable, LongTextsAreCutSoThatLinesEndBeforeColumn100) {
  ReportTable table = table_for_tests();
  table.rows[0][0] = "void " + std::string(300, 'x') + "<end>";
  const std::string text = table_text(table, {});
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(text.find('\n', at) - at, 100);
  EXPECT_THAT(text, HasSubstr("void xxx"));
  EXPECT_THAT(text, HasSubstr("x..x"));
  EXPECT_THAT(text, HasSubstr("<end>"));
}

TEST(ReportTable, TextsCannotTalkToTheTerminal) {
  ReportTable table = table_for_tests();
  table.rows[0][0] = std::string("\033[31m");
  EXPECT_THAT(table_text(table, {}), Not(HasSubstr("\033")));
}

TEST(ReportTable, SignsOfChanges) {
  const ReportTable table{.name = "c",
                          .title = "C",
                          .columns = {{"d", "d", CellKind::kTimeChange}, {"c", "c", CellKind::kChange}},
                          .rows = {{-1500.0, -0.25}, {20.0, 0.5}}};
  EXPECT_EQ(table_text(table, {}),
            "       d       c\n"
            "-1.50 us  -25.0%\n"
            "  +20 ns  +50.0%\n");
}

}  // namespace
}  // namespace nadi
