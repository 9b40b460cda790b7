#include "nadi/tables/report_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline show {
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
  EXPECT_EQ(table_text(table_for_tests(), {.rows = 1, .more = ": --top 2"}),
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

TEST(ReportTable, ColumnsForPeopleOnly) {
  const ReportTable table{.name = "t",
                          .title = "T",
                          .columns = {{"name", "name", CellKind::kText}, {"", "heads/kv", CellKind::kFigure}},
                          .rows = {{std::string("a"), std::string("32/8")}}};
  EXPECT_EQ(table_text(table, {}), "name  heads/kv\na         32/8\n");
  EXPECT_EQ(table_csv(table), "name\na\n");
  EXPECT_EQ(table_json(table).dump(), R"([{"name":"a"}])");
}

TEST(ReportTable, LongTextsAreCutSoThatLinesEndBeforeColumn100) {
  ReportTable table = table_for_tests();
  table.rows[0][0] = "void " + std::string(300, 'x') + "<end>";
  const std::string text = table_text(table, {});
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(text.find('\n', at) - at, 100 + std::string_view("…").size() - 1);
  EXPECT_THAT(text, HasSubstr("void xxx"));
  EXPECT_THAT(text, HasSubstr("x…x"));
  EXPECT_THAT(text, HasSubstr("<end>"));
}

TEST(ReportTable, NamesThatDifferInTheMiddleStayDistinct) {
  ReportTable table = table_for_tests();
  const std::string start = "void vectorized_elementwise_kernel<4, " + std::string(80, 'x');
  const std::string end = std::string(80, 'y') + "<float>>(int)";
  table.rows[0][0] = start + "AddFunctor" + end;
  table.rows[1][0] = start + "MulFunctor" + end;
  const std::string text = table_text(table, {.width = 80});
  EXPECT_THAT(text, HasSubstr("AddFunctor"));
  EXPECT_THAT(text, HasSubstr("MulFunctor"));
}

TEST(ReportTable, ColumnsThatAreNotNeededGiveWayInNarrowTerminals) {
  ReportTable table{.name = "t",
                    .title = "T",
                    .columns = {{"a", "first", CellKind::kTime},
                                {"b", "second", CellKind::kTime, Shown::kIfRoom},
                                {"c", "third", CellKind::kTime},
                                {"d", "fourth", CellKind::kTime, Shown::kIfRoom}},
                    .rows = {{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}}}};
  EXPECT_EQ(table_text(table, {.width = 80}), "first  second  third  fourth\n 1 ns    2 ns   3 ns    4 ns\n");
  EXPECT_EQ(table_text(table, {.width = 24}), "first  second  third\n 1 ns    2 ns   3 ns\n");
  EXPECT_EQ(table_text(table, {.width = 12}), "first  third\n 1 ns   3 ns\n");
  table.rows[0][1] = std::int64_t{0};
  EXPECT_EQ(table_text(table, {.width = 80}), "first  third  fourth\n 1 ns   3 ns    4 ns\n");
}

TEST(ReportTable, FiguresWithoutATitleGiveWayTogether) {
  const ReportTable table{.name = "t",
                          .title = "T",
                          .columns = {{"a", "first", CellKind::kShare},
                                      {"a_ns", "", CellKind::kTime, Shown::kIfRoom},
                                      {"b", "second", CellKind::kShare},
                                      {"b_ns", "", CellKind::kTime, Shown::kIfRoom}},
                          .rows = {{0.25, std::int64_t{2}, 0.75, std::int64_t{6}}}};
  EXPECT_THAT(table_text(table, {.width = 30}), HasSubstr("25.0%  2 ns   75.0%  6 ns\n"));
  EXPECT_EQ(table_text(table, {.width = 24}), "first  second\n25.0%   75.0%\n");
}

TEST(ReportTable, AnAbsentFigureMayHaveAName) {
  const ReportTable table{.name = "t",
                          .title = "T",
                          .columns = {{"rank", "rank", CellKind::kCount, Shown::kAlways, "all"}},
                          .rows = {{ReportCell()}, {std::int64_t{3}}}};
  EXPECT_EQ(table_text(table, {}), "rank\n all\n   3\n");
  EXPECT_EQ(table_json(table)[0]["rank"], nullptr);
}

TEST(ReportTable, ATotalStandsBelowARule) {
  const ReportTable table{
      .name = "t",
      .title = "T",
      .columns = {{"name", "name", CellKind::kText},
                  {"bytes", "bytes", CellKind::kBytes, Shown::kAlways, "-", Zero::kAsAbsent},
                  {"whole", "whole", CellKind::kYesNo}},
      .rows = {{std::string("a"), std::int64_t{0}, true}, {std::string("b"), std::int64_t{7}, false}},
      .total = {std::string("sum"), std::int64_t{7}, ReportCell()}};
  EXPECT_EQ(table_text(table, {}),
            "name  bytes  whole\n"
            "a         -    yes\n"
            "b       7 B     no\n"
            "------------------\n"
            "sum     7 B\n");
  EXPECT_EQ(table_json(table).dump(),
            R"([{"name":"a","bytes":0,"whole":true},{"name":"b","bytes":7,"whole":false}])");
  EXPECT_EQ(table_csv(table), "name,bytes,whole\na,0,true\nb,7,false\n");
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

// 1 + 2 + 16 = 19: sixteen columns for the note.
TEST(ReportTable, WrapsSentencesInTheirColumn) {
  ReportTable table{.name = "t", .title = "T", .columns = {{"n", "n"}, {"note", "note", CellKind::kText}}};
  table.rows.push_back({std::int64_t{1}, std::string("one two three four five")});
  EXPECT_EQ(table_text(table, {.width = 19}), "n  note\n1  one two three\n   four five\n");
  EXPECT_EQ(table_text(table, {.width = 26}), "n  note\n1  one two three four five\n");
  // Below 16 columns for the text the cells stand one below the other.
  EXPECT_EQ(table_text(table, {.width = 17}), "n     1\nnote  one two\n      three four\n      five\n");
}

TEST(ReportTable, SaysWhichColumnsItLeavesOut) {
  ReportTable table{.name = "t",
                    .title = "T",
                    .columns = {{"a", "first"}, {"b", "second", CellKind::kCount, Shown::kIfRoom}}};
  table.rows.push_back({std::int64_t{1}, std::int64_t{2}});
  EXPECT_EQ(table_text(table, {.width = 12, .wide = "--wide"}),
            "first\n    1\n1 column is\n  left out;\n  --wide\n");
  EXPECT_EQ(table_text(table, {.width = 13, .wide = "--wide"}), "first  second\n    1       2\n");
}

}  // namespace
}  // namespace nadi::inline show
