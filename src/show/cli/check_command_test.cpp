#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CheckCommandTest : public testing::Test {
 protected:
  // A trace of one collective of so many bytes.
  static void write_collective(const std::string& path, std::int64_t bytes, CollectiveType type) {
    Trace trace;
    TraceNode node;
    node.id = TraceNodeId{4};
    node.name = "reduce";
    node.type = NodeType::kCommColl;
    add_is_cpu_op(node, false);
    add_comm_type(node, type);
    add_comm_size(node, Bytes{bytes});
    trace.add(node);
    std::string file;
    write_chakra(trace, [&](std::string_view part) { file += part; });
    write_text(path, file);
  }

  const WorkingFolder folder_;
};

TEST_F(CheckCommandTest, FindsNothingWrongWithOurOwnTraces) {
  ASSERT_EQ(
      run("trace gpt2-tiny --tp 2 --pp 2 --micro-batch-size 1 --batch-size 2 --seq-length 16 -o out/step "
          "--for astra-sim")
          .code,
      0);
  const CliRun done =
      run("check out/step --simulator astra-sim --simulator astra-sim-roofline --simulator astra-sim-2024");
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, StartsWith("4 traces: "));
  EXPECT_THAT(done.out, HasSubstr("; ranks of 1 run compared\n"));
  EXPECT_THAT(done.out, HasSubstr("\nastra-sim: takes them (ASTRA-sim since July 2025, feeder v3)\n"));
  EXPECT_THAT(done.out, HasSubstr("\n0 errors, 0 warnings, "));
}

// The trace takes some 100 kB.
TEST_F(CheckCommandTest, MemoryHasALimit) {
  ASSERT_EQ(run("trace gpt2-tiny --batch-size 2 --seq-length 16 -o out/step").code, 0);
  for (const std::string command : {"check", "show", "draw -o g.dot", "convert -o c/x.et",
                                    "timeline -o t.html", "analyze", "simulate --cluster dgx-a100"}) {
    const CliRun refused = run(command + " out/step.0.et --max-memory 20kB");
    EXPECT_EQ(refused.code, 4) << command << refused.out << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("error: out/step.0.et: byte "));
    EXPECT_THAT(refused.err,
                HasSubstr("is 19.5 KiB\n  hint: --max-memory SIZE allows more, if you trust the file\n"));
  }
  EXPECT_EQ(run("check out/step.0.et --max-memory 100MB").code, 0);
  EXPECT_EQ(run("show gpt2-tiny --max-memory 100MB").code, 2);
}

// With tied embeddings and a pipeline: what Chakra means by it is not what that simulator gets through.
TEST_F(CheckCommandTest, SaysBeforehandThatRanksWouldWaitForEachOther) {
  const std::string plan = "gpt2-tiny --pp 4 --micro-batch-size 1 --global-batch-size 4 --seq-length 16";
  ASSERT_EQ(run("trace " + plan + " -o out/step").code, 0);
  const CliRun done = run("check out/step --simulator astra-sim");
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.out, HasSubstr("astra-sim does not finish: it waits in a collective for rank"));
  EXPECT_THAT(done.out, HasSubstr("astra-sim-roofline: refuses"));
  ASSERT_EQ(run("trace " + plan + " -o out/step --for astra-sim --force").code, 0);
  EXPECT_EQ(run("check out/step --simulator astra-sim --simulator astra-sim-roofline").code, 0);
}

TEST_F(CheckCommandTest, SaysWhatIsWrongWithRankAndNode) {
  write_collective("run.0.et", 64, CollectiveType::kAllReduce);
  write_collective("run.1.et", 65, CollectiveType::kAllReduce);
  const CliRun done = run("check run.0.et run.1.et");
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(
      done.out,
      HasSubstr(
          "error: run.1.et: rank 1, node 4 'reduce': collective 1 of the group of all ranks is ALL_REDUCE "
          "of 65 bytes, and ALL_REDUCE of 64 bytes on rank 0, node 4 'reduce' [collective-size]\n"));
  EXPECT_THAT(done.out, HasSubstr("\n1 error, 0 warnings, "));
}

TEST_F(CheckCommandTest, PrintsJson) {
  write_collective("run.0.et", 64, CollectiveType::kBarrier);
  const CliRun done = run("check run.0.et --json");
  EXPECT_EQ(done.code, 0);
  const Json report = Json::parse(done.out);
  EXPECT_EQ(report["files"][0]["rank"], 0);
  EXPECT_EQ(report["files"][0]["nodes"], 1);
  EXPECT_EQ(report["errors"], 0);
  EXPECT_EQ(report["simulators"][0]["name"], "astra-sim");
  EXPECT_EQ(report["simulators"][0]["takes"], false);
  EXPECT_EQ(report["simulators"][0]["refusals"][0]["what"], "collective BARRIER is not simulated");
  EXPECT_EQ(report["simulators"][0]["refusals"][0]["first_node"], 4);
  const CliRun asked = run("check run.0.et --json --simulator astra-sim");
  EXPECT_EQ(asked.code, 3);
  const Json refused = Json::parse(asked.out);
  EXPECT_EQ(refused["errors"], 1);
  EXPECT_EQ(refused["findings"][0]["rule"], "refused");
  EXPECT_EQ(refused["findings"][0]["severity"], "error");
  EXPECT_EQ(refused["findings"][0]["node"], 4);
}

TEST_F(CheckCommandTest, LimitsWhatIsPrinted) {
  Trace trace;
  TraceNode node;
  for (std::uint64_t id = 0; id < 5; ++id) {
    node.clear();
    node.id = TraceNodeId{id};
    node.data_deps = {TraceNodeId{100 + id}};
    trace.add(node);
  }
  std::string file;
  write_chakra(trace, [&](std::string_view part) { file += part; });
  write_text("a.et", file);
  const CliRun done = run("check a.et --strict --limit 2");
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.out, HasSubstr("  3 more of missing-dependency; --limit shows more\n"));
  EXPECT_THAT(done.out, HasSubstr("\n5 errors, "));
}

TEST_F(CheckCommandTest, ReadsDamagedFilesWhereAsked) {
  write_text("text.et", "not a trace");
  for (const char* line : {"check text.et", "check text.et --lenient"}) {
    const CliRun done = run(line);
    EXPECT_EQ(done.code, 3) << line;
    EXPECT_THAT(done.out,
                HasSubstr("error: text.et: this is a text file, not a Chakra trace [unreadable]\n"));
  }
  Trace trace;
  TraceNode node;
  for (std::uint64_t id = 0; id < 2; ++id) {
    node.clear();
    node.id = TraceNodeId{id};
    trace.add(node);
  }
  std::string file;
  write_chakra(trace, [&](std::string_view part) { file += part; });
  write_text("a.et", file.substr(0, file.size() - 1));
  const CliRun strict = run("check a.et");
  EXPECT_EQ(strict.code, 3);
  EXPECT_THAT(strict.out, HasSubstr("error: a.et: byte "));
  EXPECT_THAT(strict.out, HasSubstr(" [unreadable]\n"));
  const CliRun lenient = run("check a.et --lenient");
  EXPECT_EQ(lenient.code, 0);
  EXPECT_THAT(lenient.out, HasSubstr(" [damaged]\n"));
}

TEST_F(CheckCommandTest, NamesMistakes) {
  const CliRun none = run("check");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("error: FILE... is missing\n"));
  const CliRun missing = run("check nowhere.et");
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("error: nowhere.et: no such file or folder\n"));
  const CliRun pattern = run("check 'no*.et'");
  EXPECT_EQ(pattern.code, 2);
  EXPECT_THAT(pattern.err, HasSubstr("no file matches 'no*.et'"));
  write_collective("run.0.et", 64, CollectiveType::kAllReduce);
  const CliRun simulator = run("check run.0.et --simulator astra");
  EXPECT_EQ(simulator.code, 2);
  EXPECT_THAT(simulator.err,
              HasSubstr("--simulator does not take 'astra'\n  hint: did you mean 'astra-sim'?"));
}

}  // namespace
}  // namespace nadi::inline show
