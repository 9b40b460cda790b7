#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "nadi/base/format.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

struct TestNode {
  std::uint64_t id;
  std::vector<std::uint64_t> data = {};
  std::vector<std::uint64_t> ctrl = {};
  std::function<void(TraceNode&)> more = [](TraceNode&) {};
};

void write_trace(const std::string& path, const std::vector<TestNode>& nodes) {
  std::string bytes;
  ChakraWriter writer([&](std::string_view part) { bytes += part; });
  TraceNode node;
  for (const TestNode& test : nodes) {
    node.clear();
    node.id = TraceNodeId{test.id};
    node.name = "n";
    node.type = NodeType::kComp;
    for (const std::uint64_t id : test.data) node.data_deps.push_back(TraceNodeId{id});
    for (const std::uint64_t id : test.ctrl) node.ctrl_deps.push_back(TraceNodeId{id});
    test.more(node);
    writer.write(node);
  }
  writer.finish();
  write_text(path, bytes);
}

std::function<void(TraceNode&)> num_ops(std::int64_t count) {
  return [count](TraceNode& node) { add_num_ops(node, Flops{count}); };
}

TEST(ShowTrace, AddsUp) {
  const WorkingFolder folder;
  // 3 waits for 2 waits for 1; 4 waits for nobody and comes first in the file.
  write_trace("a.et", {{.id = 4},
                       {.id = 3, .data = {2}, .ctrl = {1}, .more = num_ops(5)},
                       {.id = 1, .more = num_ops(7)},
                       {.id = 2, .data = {1}, .more = [](TraceNode& node) {
                          node.type = NodeType::kCommColl;
                          node.duration = Nanoseconds{1500};
                          add_comm_size(node, 64_B);
                          add_tensor_size(node, 32_B);
                          node.attributes.add_text("phase", "forward");
                        }}});
  const Json shown = run_json("show a.et");
  EXPECT_EQ(shown["schema_version"], "0.0.4");
  EXPECT_EQ(shown["bytes"], std::filesystem::file_size("a.et"));
  EXPECT_EQ(shown["data_edges"], 2);
  EXPECT_EQ(shown["control_edges"], 1);
  EXPECT_EQ(shown["longest_chain_nodes"], 3);
  EXPECT_EQ(shown["compute_nodes_without_num_ops"], 1);
  EXPECT_EQ(shown["total"]["nodes"], 4);
  EXPECT_EQ(shown["total"]["num_ops"], 5 + 7);
  EXPECT_EQ(shown["total"]["tensor_size_bytes"], 32);
  EXPECT_EQ(shown["total"]["comm_size_bytes"], 64);
  EXPECT_EQ(shown["total"]["duration_ns"], 1500);
  ASSERT_EQ(shown["types"].size(), 2u);
  EXPECT_EQ(shown["types"][0]["type"], "COMP");
  EXPECT_EQ(shown["types"][0]["nodes"], 3);
  EXPECT_EQ(shown["types"][1]["type"], "COMM_COLL");
  ASSERT_EQ(shown["phases"].size(), 2u);
  EXPECT_TRUE(shown["phases"][0]["phase"].is_null());
  EXPECT_EQ(shown["phases"][1]["phase"], "forward");
  EXPECT_EQ(shown["sections"], Json::array());

  const CliRun text = run("show a.et");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("\nlongest chain    3 nodes\n"));
  EXPECT_THAT(text.out, HasSubstr("\nwithout num_ops  1 COMP nodes\n"));
  EXPECT_THAT(text.out, HasSubstr("\nCOMM_COLL      1   0 FLOP         32 B       64 B   1.50 us\n"));
}

TEST(ShowTrace, KnowsATraceByItsContent) {
  const WorkingFolder folder;
  write_trace("trace.bin", {{.id = 0}});
  EXPECT_EQ(run_json("show trace.bin")["total"]["nodes"], 1);
  write_trace("t.et", {{.id = 2, .data = {1}, .more = num_ops(5)}, {.id = 1, .more = num_ops(7)}});
  Json wanted = run_json("show t.et");
  for (const char* file : {"t.json", "t.jsonl"}) {
    const bool lines = std::string_view(file).ends_with("l");
    ASSERT_EQ(
        run(format("convert t.et --format {} -o {}", lines ? "chakra-jsonl" : "chakra-json", file)).code, 0);
    Json shown = run_json(format("show {}", file));
    EXPECT_EQ(shown["bytes"], std::filesystem::file_size(file));
    for (const char* key : {"file", "bytes"}) shown[key] = wanted[key];
    EXPECT_EQ(shown, wanted) << file;
  }
  write_text("config", kTinyConfig);
  EXPECT_EQ(run_json("show config")["model"]["layers"], 1);
  write_text("tidy", "{\n  \"model_type\": \"gpt5\"}");
  EXPECT_THAT(run("show tidy").err, HasSubstr("tidy:2:17: unknown model_type 'gpt5'"));
  write_text("text.md", "# Words\n");
  EXPECT_THAT(run("show text.md").err,
              HasSubstr("error: text.md: this is a text file, not a model configuration"));
  write_trace("gpt2", {{.id = 0}});
  EXPECT_EQ(run_json("show gpt2 --seq-length 1")["model"]["layers"], 12) << "built-in names come first";
}

TEST(ShowTrace, RefusesFlagsOfModels) {
  const WorkingFolder folder;
  write_trace("a.et", {});
  EXPECT_EQ(run("show a.et --batch-size 4").err,
            "error: --batch-size is for models, and 'a.et' is a trace\n  hint: see 'nadi show --help'\n");
  EXPECT_EQ(run("show a.et --graph").code, 2);
  EXPECT_EQ(run("show a.et --per-layer").code, 2);
}

TEST(ShowTrace, RefusesWhatCannotBeReplayed) {
  const WorkingFolder folder;
  write_trace("circle.et", {{.id = 1, .data = {2}}, {.id = 2, .data = {1}}});
  EXPECT_EQ(run("show circle.et").code, 3);
  EXPECT_THAT(run("show circle.et").err,
              HasSubstr("error: circle.et: byte 8: 2 nodes wait for each other in a cycle: "));
  write_trace("orphan.et", {{.id = 1, .data = {9}}});
  EXPECT_EQ(run("show orphan.et").code, 3);
  EXPECT_THAT(
      run("show orphan.et").err,
      HasSubstr("error: orphan.et: byte 8: node 1 'n' has a data dependency on node 9, which is not"));
  write_trace("twice.et", {{.id = 1}, {.id = 1}});
  EXPECT_EQ(run("show twice.et").code, 3);
  // Metadata of 8 bytes, then a record of 8: length, id (2), name (3), type (2).
  EXPECT_THAT(run("show twice.et").err, HasSubstr("error: twice.et: byte 16: node id 1 is used twice"));
}

TEST(ShowTrace, RefusesSizesThatAreNone) {
  const WorkingFolder folder;
  const auto attribute = [](auto add) { return TestNode{.id = 1, .more = add}; };
  write_trace("text.et", {attribute([](TraceNode& node) { node.attributes.add_text("num_ops", "5"); })});
  write_trace("negative.et", {attribute([](TraceNode& node) { node.attributes.add_int64("num_ops", -5); })});
  for (const char* name : {"text.et", "negative.et"}) {
    const CliRun done = run(std::string("show ") + name);
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err,
                HasSubstr("byte 8: num_ops of node 1 is not a whole number between 0 and 2^63 - 1\n"));
  }
  const std::int64_t half = std::int64_t{1} << 62;
  write_trace("sum.et", {{.id = 0, .more = num_ops(half)}, {.id = 1, .more = num_ops(half)}});
  EXPECT_EQ(run("show sum.et").code, 3);
  EXPECT_THAT(run("show sum.et").err,
              HasSubstr("a count of floating-point operations exceeds 2^63 - 1, added up to here\n"));
}

TEST(ShowTrace, TextsOfAFileCannotTalkToTheTerminal) {
  const WorkingFolder folder;
  write_trace("a.et",
              {{.id = 0, .more = [](TraceNode& node) { node.attributes.add_text("phase", "\033[2J"); }}});
  const CliRun done = run("show a.et");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out.find('\033'), std::string::npos);
  EXPECT_THAT(done.out, HasSubstr("\\x1b[2J"));
}

TEST(ShowTrace, ManyGroupsAreCutShort) {
  const WorkingFolder folder;
  std::vector<TestNode> nodes;
  for (std::uint64_t i = 0; i < 25; ++i)
    nodes.push_back({.id = i, .more = [i](TraceNode& node) {
                       node.attributes.add_text("section", "s" + std::to_string(i));
                     }});
  write_trace("a.et", nodes);
  EXPECT_THAT(run("show a.et").out, HasSubstr("\n... and 5 more, in --json\n"));
  EXPECT_EQ(run_json("show a.et")["sections"].size(), 25u);
}

TEST(ShowTrace, MissingFileIsNamed) {
  EXPECT_EQ(run("show nope.et").code, 3);
  EXPECT_EQ(run("show nope.et").err, "error: nope.et: no such file or folder\n");
}

}  // namespace
}  // namespace nadi::inline show
