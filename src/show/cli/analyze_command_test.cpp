#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/report/analysis_tables.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline show {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct TestNode {
  std::string name;
  std::int64_t start, end;  // us
  bool collective = false;
};

// Each waits for the one before.
void write_rank(const std::string& path, std::int64_t rank, const std::vector<TestNode>& nodes) {
  GlobalMetadata metadata;
  metadata.attributes.add_int64("rank", rank);
  std::string bytes;
  ChakraWriter writer([&](std::string_view part) { bytes += part; }, metadata);
  TraceNode node;
  for (const TestNode& test : nodes) {
    node.clear();
    node.id = TraceNodeId{writer.nodes()};
    if (writer.nodes() > 0) node.data_deps.push_back(TraceNodeId{writer.nodes() - 1});
    node.name = test.name;
    node.type = test.collective ? NodeType::kCommColl : NodeType::kComp;
    node.start = Nanoseconds{test.start * 1000};
    node.duration = Nanoseconds{(test.end - test.start) * 1000};
    add_is_cpu_op(node, false);
    if (test.collective) {
      add_comm_type(node, CollectiveType::kAllReduce);
      add_comm_size(node, 1000_B);
      add_process_group(node, 1);
    }
    node.attributes.add_int64("step", 4);
    writer.write(node);
  }
  writer.finish();
  write_text(path, bytes);
}

// Rank 1 computes for 30 us instead of 10 and lets rank 0 wait.
void write_run(const std::string& prefix) {
  write_rank(prefix + ".0.et", 0, {{"mm", 100, 110}, {"reduce", 110, 140, true}, {"add", 140, 150}});
  write_rank(prefix + ".1.et", 1, {{"mm", 100, 130}, {"reduce", 130, 140, true}, {"add", 140, 150}});
}

std::string refusal(std::string_view command_line) {
  const CliRun result = run(command_line);
  EXPECT_NE(result.code, 0) << command_line;
  return result.err;
}

TEST(Analyze, TwoRanks) {
  const WorkingFolder folder;
  write_run("out/run");
  const Json json = run_json("analyze 'out/run.*.et'");
  EXPECT_EQ(json["ranks"].size(), 2);
  EXPECT_EQ(json["ranks"][1]["steps"], Json::array({4}));
  const Json& breakdown = json["tables"]["breakdown"];
  ASSERT_EQ(breakdown.size(), 3);
  EXPECT_EQ(breakdown[0]["rank"], nullptr);  // both added up
  EXPECT_EQ(breakdown[0]["span_ns"], 100'000);
  EXPECT_EQ(breakdown[0]["compute_ns"], 60'000);
  EXPECT_EQ(breakdown[1]["rank"], 0);
  EXPECT_EQ(breakdown[1]["span_ns"], 50'000);
  EXPECT_EQ(breakdown[1]["compute_ns"], 20'000);
  EXPECT_EQ(breakdown[1]["exposed_communication_ns"], 30'000);
  EXPECT_EQ(breakdown[1]["exposed_communication_share"], 0.6);
  EXPECT_EQ(breakdown[1]["late_rank_ns"], 20'000);
  EXPECT_EQ(breakdown[1]["transfer_ns"], 10'000);
  EXPECT_EQ(breakdown[1]["late_message_ns"], 0);
  EXPECT_EQ(breakdown[1]["idle_ns"], 0);
  const Json& communication = json["tables"]["communication"];
  EXPECT_EQ(communication[0]["members"], 2);  // both ranks use the group
  EXPECT_EQ(communication[0]["time_ns"], 30'000);
  EXPECT_EQ(communication[0]["waited_ns"], 20'000);
  EXPECT_NEAR(communication[0]["bus_bytes_per_second"].get<double>(), 1000 / 10e-6, 1);  // of the transfer
  const Json& stragglers = json["tables"]["stragglers"];
  EXPECT_EQ(stragglers[1]["last"], 1);
  EXPECT_EQ(stragglers[1]["caused_ns"], 20'000);
  EXPECT_EQ(stragglers[0]["suffered_ns"], 20'000);
  // The path: 10 of add and 10 of transfer on rank 0, and before that the 30 of mm on rank 1.
  EXPECT_EQ(json["path_crosses_ranks"], true);
  const Json& path = json["tables"]["critical_path"];
  ASSERT_EQ(path.size(), 3);
  EXPECT_EQ(path[0]["rank"], nullptr);
  EXPECT_EQ(path[0]["length_ns"], 50'000);
  EXPECT_EQ(path[0]["compute_ns"], 40'000);
  EXPECT_EQ(path[0]["crossings"], 1);
  EXPECT_EQ(path[1]["length_ns"], 20'000);
  EXPECT_EQ(path[2]["rank"], 1);
  EXPECT_EQ(path[2]["length_ns"], 30'000);
  EXPECT_EQ(json["verdict"]["limit"], "compute-bound");
  EXPECT_EQ(json["verdict"]["limit_share"], 0.6);
  EXPECT_EQ(json["tables"]["ops"][0]["name"], "mm");  // 40 us, as the all-reduce: computation comes first
  EXPECT_EQ(json["matched_collectives"], 1);
}

TEST(Analyze, Text) {
  const WorkingFolder folder;
  write_run("out/run");
  const CliRun result = run("analyze out/run.0.et out/run.1.et");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(
      result.out,
      StartsWith("compute-bound: the device computes 60.0% of the time, mainly matrix products (40.0% of the "
                 "time of\n  all ops)\n"
                 "a step takes 50.0 us: 20,000 steps/s\n"
                 "largest losses: transfer 20.0%, waiting for a late rank 20.0%\n"
                 "of 100 us on 2 ranks: compute 60.0%, transfer 20.0%, waiting for a late rank 20.0%, idle "
                 "0.0%\n"
                 "ops: matrix product 40.0%, communication 40.0%, elementwise 20.0%\n"
                 "\n"
                 "2 ranks, out/run.0.et to out/run.1.et\n6 nodes, step 4, 50.0 us\n"
                 "clocks of ranks are taken as recorded\n"));
  EXPECT_THAT(
      result.out,
      HasSubstr(
          "rank     span  compute           transfer           late rank           idle  hidden comm.\n"
          " all   100 us    60.0%  60.0 us     20.0%  20.0 us      20.0%  20.0 us  0.0%          0.0%\n"
          "   0  50.0 us    40.0%  20.0 us     20.0%  10.0 us      40.0%  20.0 us  0.0%          0.0%\n"
          "   1  50.0 us    80.0%  40.0 us     20.0%  10.0 us       0.0%     0 ns  0.0%          0.0%\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("Lanes")));
  EXPECT_THAT(result.out,
              ContainsRegex("\n[0-9]+ more tables: --all prints them, --table NAME one of them\n$"));
  const CliRun all = run("analyze out/run.0.et out/run.1.et --all");
  EXPECT_THAT(
      all.out,
      HasSubstr("Stragglers: ranks that the others waited for\n(by the starts of matched collectives)\n"));
  EXPECT_THAT(all.out, HasSubstr("Lanes"));
  EXPECT_THAT(all.out, Not(HasSubstr("more tables")));
  for (const std::string& text : {result.out, all.out})
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      EXPECT_LE(text.find('\n', at) - at, 100) << text.substr(at, 120);
  const CliRun one = run("analyze out/run.0.et --table critical-ops");
  EXPECT_THAT(one.out, HasSubstr("Ops on the critical path\n"));
  EXPECT_THAT(one.out, Not(HasSubstr("Lanes")));
}

TEST(Analyze, SizesOfGroupsComeFromTheirFile) {
  const WorkingFolder folder;
  write_run("out/run");
  write_text("out/run.groups.json", R"({"1": [0, 1, 2, 3]})");
  const Json json = run_json("analyze out/run.0.et");
  EXPECT_EQ(json["tables"]["communication"][0]["members"], 4);
}

TEST(Analyze, WithoutTimesNothingLooksMeasured) {
  const WorkingFolder folder;
  write_text("config.json", kTinyConfig);
  ASSERT_EQ(run("trace config.json --tp 2 -o out/step").code, 0);
  const CliRun text = run("analyze 'out/step.*.et'");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(
      text.out,
      StartsWith("not timed: the trace says what is to be done, and not how long it takes\n2 ranks: "));
  EXPECT_THAT(text.out, HasSubstr("without times"));
  EXPECT_THAT(text.out, Not(HasSubstr(" ns")));
  const Json json = run_json("analyze 'out/step.*.et'");
  EXPECT_EQ(json["ranks"][0]["clock"], "none");
  EXPECT_EQ(json["tables"]["breakdown"], Json::array());
  EXPECT_EQ(json["tables"]["critical_path"], Json::array());
  EXPECT_EQ(json["verdict"]["limit"], "not timed");
  EXPECT_EQ(json["verdict"]["limit_share"], nullptr);
  EXPECT_EQ(json["tables"]["kinds"][0]["kind"], "matrix product");
  EXPECT_EQ(json["tables"]["kinds"][0]["time_ns"], nullptr);
  EXPECT_GT(json["tables"]["kinds"][0]["flops"], 0);
  EXPECT_GT(json["tables"]["work"][0]["longest_chain_nodes"], 10);
  for (const Json& op : json["tables"]["ops"]) EXPECT_EQ(op["time_ns"], nullptr);
  EXPECT_EQ(json["tables"]["ops"][0]["name"], "matmul");  // the most work first
  EXPECT_THAT(run("analyze out/step.0.et --table queues").out,
              HasSubstr("queues: the trace has nothing for this table"));
  EXPECT_THAT(refusal("analyze out/step.0.et --against out/step.1.et"),
              HasSubstr("out/step.1.et has no times: there is nothing to compare"));
}

TEST(Analyze, Csv) {
  const WorkingFolder folder;
  write_run("out/run");
  const CliRun one = run("analyze out/run.0.et --csv --table steps");
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out,
            "rank,step,nodes,span_ns,compute_ns,communication_ns,memory_ns,host_ns,flops,start_ns\n"
            "0,4,3,50000,20000,30000,0,0,,100000\n");
  EXPECT_EQ(run("analyze out/run.0.et --csv -o tables").code, 0);
  EXPECT_EQ(read_text("tables/steps.csv"), one.out);
  EXPECT_TRUE(std::filesystem::exists("tables/critical-path.csv"));
  EXPECT_THAT(refusal("analyze out/run.0.et --csv -o tables"), HasSubstr("exists"));
  EXPECT_EQ(run("analyze out/run.0.et --csv -o tables --force").code, 0);
}

TEST(Analyze, WhatChanged) {
  const WorkingFolder folder;
  write_run("out/run");
  write_rank("out/other.0.et", 0, {{"mm", 100, 125}, {"reduce", 125, 140, true}, {"mul", 140, 150}});
  const Json json = run_json("analyze out/other.0.et --against out/run.0.et");
  const Json& changes = json["tables"]["changes"];
  ASSERT_EQ(changes.size(), 4);
  EXPECT_EQ(changes[0]["name"], "mm");  // 15 more; the all-reduce 15 less
  EXPECT_EQ(changes[0]["difference_ns"], 15'000);
  EXPECT_EQ(changes[0]["change"], 1.5);
  EXPECT_EQ(changes[1]["difference_ns"], -15'000);
  EXPECT_EQ(changes[2]["name"], "add");
  EXPECT_EQ(changes[2]["kind"], "gone");
  EXPECT_EQ(changes[3]["kind"], "new");
  const CliRun text = run("analyze out/other.0.et --against out/run.0.et");
  EXPECT_THAT(text.out, HasSubstr("before  out/run.0.et (rank 0)"));
  EXPECT_THAT(text.out, HasSubstr("\ncommunication-bound: 60.0% of the time"));
  EXPECT_THAT(text.out, HasSubstr("\ncompute-bound: the device computes 70.0% of the time"));
  EXPECT_THAT(text.out, HasSubstr("+15.0 us  +150.0%"));
}

TEST(Analyze, WhatIsWrongWithTheCommandLine) {
  const WorkingFolder folder;
  write_run("out/run");
  EXPECT_THAT(refusal("analyze"), HasSubstr("FILE... is missing"));
  EXPECT_THAT(refusal("analyze 'none.*.et'"), HasSubstr("no file matches 'none.*.et'"));
  EXPECT_THAT(refusal("analyze none.et"), HasSubstr("none.et"));
  EXPECT_THAT(refusal("analyze out/run.0.et out/run.0.et"), HasSubstr("are both of rank 0"));
  EXPECT_THAT(refusal("analyze out/run.0.et --table opss"), HasSubstr("did you mean 'ops'?"));
  EXPECT_THAT(refusal("analyze out/run.0.et --table changes"), HasSubstr("--table does not take 'changes'"));
  EXPECT_THAT(refusal("analyze out/run.0.et --csv"), HasSubstr("--csv prints one table, and there are many"));
  EXPECT_THAT(refusal("analyze out/run.0.et --all --table ops"), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("analyze out/run.0.et --csv --json"), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("analyze out/run.0.et -o x"),
              HasSubstr("-o x is neither a page nor with --csv\n  hint: -o FILE.html writes a page"));
  EXPECT_THAT(refusal("analyze out/run.0.et --step 5"), HasSubstr("no node of out/run.0.et is of step 5"));
  write_text("bad.et", "no trace");
  EXPECT_EQ(run("analyze bad.et").code, 3);
}

TEST(Analyze, HtmlPage) {
  const WorkingFolder folder;
  write_run("out/run");
  const CliRun written = run("analyze 'out/run.*.et' --html report.html");
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "report.html\n");
  const std::string page = read_text("report.html");
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(refusal("analyze 'out/run.*.et' --html report.html"), HasSubstr("report.html"));
  EXPECT_EQ(run("analyze 'out/run.*.et' --html report.html --force").code, 0);
  EXPECT_EQ(read_text("report.html"), page);  // same input, same bytes
  EXPECT_EQ(run("analyze out/run.1.et --against out/run.0.et --html two.html").code, 0);
  EXPECT_NE(read_text("two.html"), page);
  // -o is the name of a page's file in every command.
  EXPECT_EQ(run("analyze out/run.1.et --against out/run.0.et -o same.html").out, "same.html\n");
  EXPECT_EQ(read_text("same.html"), read_text("two.html"));
  EXPECT_THAT(refusal("analyze out/run.0.et -o a.html --json"),
              HasSubstr("-o FILE.html and --json exclude each other"));
  EXPECT_THAT(refusal("analyze out/run.0.et -o a.html --html b.html"),
              HasSubstr("-o and --html exclude each other"));
  EXPECT_THAT(refusal("analyze out/run.0.et --html a.html --json"),
              HasSubstr("--html and --json exclude each other"));
  EXPECT_THAT(refusal("analyze out/run.0.et --html a.html --top 3"),
              HasSubstr("--html and --top exclude each other"));
  EXPECT_THAT(refusal("analyze missing.et --html nowhere/a.html"), HasSubstr("missing.et"));
  EXPECT_FALSE(std::filesystem::exists("a.html"));
}

TEST(Analyze, PatternsOfAUserNameKinds) {
  const WorkingFolder folder;
  write_rank("run.0.et", 0, {{"our_kernel", 100, 150}, {"mm", 150, 200}});
  const CliRun unknown = run("analyze run.0.et");
  EXPECT_EQ(unknown.code, 0) << unknown.err;
  EXPECT_THAT(unknown.out, HasSubstr("Work of unknown kind"));
  EXPECT_THAT(unknown.out, ContainsRegex("our_kernel +50.0% +50.0 us"));
  write_text("kinds.json", R"({"our_": "attention"})");
  const Json named = run_json("analyze run.0.et --kinds kinds.json");
  EXPECT_EQ(named["tables"]["other"], Json::array());
  EXPECT_EQ(named["tables"]["kinds"][0]["kind"], "matrix product");
  EXPECT_EQ(named["tables"]["kinds"][1]["kind"], "attention");
  write_text("wrong.json", R"({"our_": "atention"})");
  const CliRun wrong = run("analyze run.0.et --kinds wrong.json");
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'attention'?"));
}

// As Chakra's own converter writes it: a note, and with --strict an error, in every command.
TEST(Analyze, DependenciesOnNodesThatAreNotThere) {
  const WorkingFolder folder;
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{4};
  node.name = "mm";
  node.type = NodeType::kComp;
  node.start = Nanoseconds{1000};
  node.duration = Nanoseconds{1000};
  node.data_deps = {TraceNodeId{3}};
  trace.add(node);
  std::string file;
  write_chakra(trace, [&](std::string_view part) { file += part; });
  write_text("run.8.et", file);
  for (const char* command : {"analyze run.8.et", "convert run.8.et -o out.8.et --force", "check run.8.et",
                              "draw run.8.et -o g.dot --force", "timeline run.8.et -o t.html --force"}) {
    const CliRun read = run(command);
    EXPECT_EQ(read.code, 0) << command << read.err;
    EXPECT_THAT(read.out + read.err, HasSubstr("depend")) << command;
    const CliRun strict = run(std::string(command) + " --strict");
    EXPECT_EQ(strict.code, 3) << command;
    EXPECT_THAT(strict.out + strict.err, HasSubstr("dependency on node 3, which is not in the file"))
        << command;
  }
  // A prefix stands for its rank files, whatever their first number.
  EXPECT_THAT(run("simulate run").err, HasSubstr("no hardware to predict a step on"));
}

TEST(Analyze, OtherFilesAreNamed) {
  const WorkingFolder folder;
  write_text("a.json", R"({"a": 1})");
  write_text("r.json", R"({"rocprofiler-sdk-tool": [{}]})");
  for (const auto& [file, said] :
       {std::pair{"a.json", "this is a JSON file"}, std::pair{"r.json", "this is a result of rocprofv3"}}) {
    const CliRun done = run(std::string("analyze ") + file);
    EXPECT_EQ(done.code, 3) << file;
    EXPECT_THAT(done.err, HasSubstr(said));
  }
}

TEST(Analyze, NamesOfTables) {
  EXPECT_THAT(comparison_table_names(), ElementsAre("totals", "changes", "occurrences"));
  EXPECT_EQ(analysis_table_names().size(), 21);
  EXPECT_EQ(analysis_table_names().front(), "breakdown");
}

}  // namespace
}  // namespace nadi::inline show
