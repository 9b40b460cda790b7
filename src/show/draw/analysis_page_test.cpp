#include "nadi/draw/analysis_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/timeline_for_tests.h"
#include "nadi/base/json.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/report/analysis_definitions.h"
#include "nadi/report/analysis_report.h"
#include "nadi/report/analysis_tables.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

NodeForTests page_collective(std::uint64_t id, std::int64_t start, std::int64_t end, std::uint64_t after) {
  return {.id = id,
          .name = "reduce",
          .start = start,
          .end = end,
          .type = NodeType::kCommColl,
          .data = {after},
          .more = [](TraceNode& node) {
            collective_for_tests(CollectiveType::kAllReduce, 100, 3)(node);
            node.attributes.add_int64("step", 4);
          }};
}

NodeForTests page_op(std::uint64_t id, std::string name, std::int64_t start, std::int64_t end,
                     std::vector<std::uint64_t> after = {}) {
  return {.id = id,
          .name = std::move(name),
          .start = start,
          .end = end,
          .data = std::move(after),
          .more = [](TraceNode& node) {
            node.attributes.add_int64("step", 4);
            node.attributes.add_text("phase", "forward");
            add_num_ops(node, Flops{1000});
          }};
}

// Rank 1 computes longer and lets rank 0 wait.
RunAnalysis page_run(const std::string& name, std::int64_t slow = 30'000) {
  RunAnalysis run;
  const std::int64_t begin = 100'000, late = begin + slow;
  const auto first = trace_for_tests({page_op(1, name, begin, begin + 10'000),
                                      page_collective(2, begin + 10'000, late + 10'000, 1),
                                      page_op(3, "add", late + 10'000, late + 20'000, {2})});
  const auto second =
      trace_for_tests({page_op(1, name, begin, late), page_collective(2, late, late + 10'000, 1),
                       page_op(3, "add", late + 10'000, late + 20'000, {2})});
  add_rank(run, {.trace = *first, .file = "run.0.et", .rank = 0}, {.profile = true, .picture = true});
  add_rank(run, {.trace = *second, .file = "run.1.et", .rank = 1}, {.profile = true, .picture = true});
  finish(run);
  return run;
}

// A table of the page as that of the report's JSON: a list of rows.
Json page_rows(const Json& table) {
  Json rows = Json::array();
  for (std::size_t c = 0; c < table["columns"].size(); ++c)
    for (std::size_t r = 0; r < table["values"][c].size(); ++r) {
      if (r >= rows.size()) rows.push_back(Json::object());
      rows[r][table["columns"][c]["key"].get<std::string>()] = table["values"][c][r];
    }
  return rows;
}

Json page_tables_by_key(const Json& tables) {
  Json all = Json::object();
  for (const Json& table : tables) {
    std::string name = table["name"];
    std::ranges::replace(name, '-', '_');
    all[name] = page_rows(table);
  }
  return all;
}

TEST(AnalysisPage, HasWhatTheReportHas) {
  const RunAnalysis run = page_run("mm");
  const Json report = AnalysisReport(run).json();
  const Json data = Json::parse(analysis_page_data({.run = run}));
  EXPECT_EQ(data["comparison"], nullptr);
  ASSERT_EQ(data["runs"].size(), 1);
  EXPECT_EQ(page_tables_by_key(data["runs"][0]["tables"]), report["tables"]);
  Json facts = report;
  facts.erase("tables");
  EXPECT_EQ(data["runs"][0]["facts"], facts);
  EXPECT_EQ(data["runs"][0]["verdict"], report["verdict"]["lines"]);
}

TEST(AnalysisPage, OfTwoRuns) {
  const RunAnalysis before = page_run("mm", 60'000), after = page_run("mm");
  const Json data = Json::parse(analysis_page_data({.run = after, .before = &before}));
  EXPECT_EQ(page_tables_by_key(data["comparison"]), AnalysisReport(after, &before).json()["tables"]);
  EXPECT_EQ(page_tables_by_key(data["runs"][0]["tables"]), AnalysisReport(after).json()["tables"]);
  EXPECT_EQ(page_tables_by_key(data["runs"][1]["tables"]), AnalysisReport(before).json()["tables"]);
}

TEST(AnalysisPage, TheStripHasTheCriticalPath) {
  const Json data = Json::parse(analysis_page_data({.run = page_run("mm")}));
  const Json& strips = data["runs"][0]["strips"];
  EXPECT_EQ(strips["related"], true);
  ASSERT_EQ(strips["ranks"].size(), 2);
  // Start, length, busy, nodes, name and activity of each box: the path is on rank 1 for 30 us, then on rank
  // 0.
  EXPECT_EQ(strips["ranks"][1]["lanes"]["path"], Json::parse("[0, 30000, 30000, 1, 0, 2]"));
  EXPECT_EQ(strips["ranks"][1]["names"][0], "mm");
  EXPECT_EQ(strips["ranks"][0]["lanes"]["path"],
            Json::parse("[30000, 10000, 10000, 1, 2, 3, 40000, 10000, 10000, 1, 1, 2]"));
  EXPECT_EQ(strips["crossings"], Json::parse("[[1, 0, 30000]]"));
}

TEST(AnalysisPage, EveryFigureHasADefinition) {
  const RunAnalysis run = page_run("mm");
  std::vector<ReportTable> tables = analysis_tables(run);
  for (ReportTable& table : comparison_tables(run, run)) tables.push_back(std::move(table));
  for (const ReportTable& table : tables) {
    EXPECT_NE(table_definition(table.name), "") << table.name;
    for (const ReportColumn& column : table.columns)
      EXPECT_NE(find_definition(table.name, column.key), nullptr) << table.name << " " << column.key;
  }
  const Json report = AnalysisReport(run).json();
  for (const auto& [key, value] : report["headline"].items())
    EXPECT_NE(find_definition("headline", key), nullptr) << key;
}

// Formulas name columns that there are; the page's tests compute them.
TEST(AnalysisPage, FormulasNameFigures) {
  const RunAnalysis run = page_run("mm");
  std::set<std::string> known;
  std::vector<ReportTable> tables = analysis_tables(run);
  for (ReportTable& table : comparison_tables(run, run)) tables.push_back(std::move(table));
  for (const ReportTable& table : tables)
    for (const ReportColumn& column : table.columns) known.insert(table.name + "." + column.key);
  const Json report = AnalysisReport(run).json();
  for (const auto& [key, value] : report["headline"].items()) known.insert("headline." + key);
  int names = 0;
  for (const std::string& figure : known) {
    const std::string table = figure.substr(0, figure.find('.'));
    std::string word;
    for (const char letter :
         std::string(find_definition(table, figure.substr(table.size() + 1))->formula) + " ") {
      if (std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.') {
        word += letter;
      } else if (!word.empty()) {
        const bool is_call = letter == '(';
        const std::string name = word.find('.') == std::string::npos ? table + "." + word : word;
        if (is_call) {
          EXPECT_TRUE(word == "sum" || word == "rank_sum" || word == "median") << figure << ": " << word;
        } else {
          EXPECT_TRUE(known.contains(name)) << figure << ": " << word;
        }
        ++names;
        word.clear();
      }
    }
  }
  EXPECT_GT(names, 80);
}

TEST(AnalysisPage, SameInputSameBytes) {
  const TemporaryFolder folder;
  write_analysis_page({.run = page_run("mm")}, folder / "a.html", Overwrite::kRefuse);
  write_analysis_page({.run = page_run("mm")}, folder / "b.html", Overwrite::kRefuse);
  EXPECT_EQ(read_text(folder / "a.html"), read_text(folder / "b.html"));
}

TEST(AnalysisPage, RefusesToOverwrite) {
  const TemporaryFolder folder;
  const auto path = folder / "a.html";
  write_analysis_page({.run = page_run("mm")}, path, Overwrite::kRefuse);
  EXPECT_THROW(write_analysis_page({.run = page_run("mm")}, path, Overwrite::kRefuse), Error);
  write_analysis_page({.run = page_run("mm")}, path, Overwrite::kAllow);
}

TEST(AnalysisPage, NamesStayData) {
  const TemporaryFolder folder;
  const std::string name = "</script><script>alert(1)</script>\"'\x01\xff";
  write_analysis_page({.run = page_run(name)}, folder / "a.html", Overwrite::kRefuse);
  EXPECT_THAT(read_text(folder / "a.html"), Not(HasSubstr("alert(1)")));
  EXPECT_THAT(analysis_page_data({.run = page_run(name)}), HasSubstr("alert(1)"));
}

}  // namespace
}  // namespace nadi::inline show
