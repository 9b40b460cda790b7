#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/temporary_variable.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

bool has_dot() {
  return std::filesystem::exists("/usr/bin/dot") || std::filesystem::exists("/usr/local/bin/dot");
}

// Dry traces: tr.0.et and tr.1.et of two tensor-parallel ranks.
class DrawCommandTest : public testing::Test {
 protected:
  DrawCommandTest() {
    EXPECT_EQ(
        run("trace gpt2-tiny --tp 2 --step generate --num-input-tokens 4 --num-output-tokens 3 -o tr").code,
        0);
  }
  const WorkingFolder folder_;
};

TEST_F(DrawCommandTest, WritesEveryFormatThatNeedsNoOtherProgram) {
  for (const std::string name : {"g.dot", "g.graphml", "g.json", "g.html"}) {
    const CliRun done = run("draw tr.0.et -o " + name);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, StartsWith(name + ": "));
  }
  EXPECT_THAT(read_text("g.dot"), StartsWith("digraph nadi {"));
  EXPECT_THAT(read_text("g.graphml"), HasSubstr("attr.type=\"long\""));
  EXPECT_THAT(read_text("g.html"), HasSubstr("Content-Security-Policy"));
  const Json graph = Json::parse(read_text("g.json"));
  EXPECT_TRUE(graph.contains("edges"));
  ASSERT_EQ(run("draw tr.0.et -o old.json --edges-key links").code, 0);
  EXPECT_EQ(Json::parse(read_text("old.json"))["links"], graph["edges"]);
}

TEST_F(DrawCommandTest, DrawsPictures) {
  if (!has_dot()) GTEST_SKIP() << "Graphviz is not there";
  for (const auto& [name, start] :
       {std::pair{"g.png", "\x89PNG"}, std::pair{"g.svg", "<?xml"}, std::pair{"g.pdf", "%PDF"}}) {
    const CliRun done = run(std::string("draw tr.0.et -o ") + name);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(read_text(name), StartsWith(start));
    EXPECT_THAT(done.err, HasSubstr("more passes"));
  }
  EXPECT_EQ(run("draw 'tr.*.et' --comm -o comm.png").code, 0);
}

TEST_F(DrawCommandTest, ANodeLinkGraphBecomesTheTraceThatItWas) {
  ASSERT_EQ(run("draw tr.0.et -o g.json").code, 0);
  ASSERT_EQ(run("draw --input g.json --output model.json --format chakra").code, 0);
  ASSERT_EQ(run("convert tr.0.et -o wanted.json --format chakra-json").code, 0);
  EXPECT_TRUE(read_text("model.json") == read_text("wanted.json"));
  EXPECT_EQ(Json::parse(read_text("model.json"))["schema"], "chakra 0.0.4");
  ASSERT_EQ(run("draw --input g.json --output model.jsonl").code, 0);
  ASSERT_EQ(run("convert model.jsonl -o lines.et").code, 0);
  ASSERT_EQ(run("convert model.json -o document.et").code, 0);
  EXPECT_TRUE(read_text("lines.et") == read_text("document.et"));
  ASSERT_EQ(run("draw g.json -o back.et").code, 0);
  EXPECT_EQ(run("check back.et").code, 0);
  // What convert writes is read by both.
  ASSERT_EQ(run("convert tr.0.et -o links.json --format node-link").code, 0);
  ASSERT_EQ(run("convert links.json -o links.et").code, 0);
  EXPECT_TRUE(read_text("links.et") == read_text("tr.0.et"));
  ASSERT_EQ(run("draw links.json -o g2.json").code, 0);
  EXPECT_TRUE(read_text("g2.json") == read_text("g.json"));
}

TEST_F(DrawCommandTest, RanksAreDrawnTogetherAndTakenApart) {
  const Json summary = run_json("draw 'tr.*.et' -o both.json --json");
  EXPECT_EQ(summary["ranks"], 2);
  const Json graph = Json::parse(read_text("both.json"));
  std::size_t across = 0;
  for (const Json& edge : graph["edges"]) across += edge["key"] == "communication" ? 1 : 0;
  EXPECT_EQ(2 * across, summary["communications"].get<std::size_t>());
  ASSERT_EQ(run("draw both.json -o apart.et").code, 0);
  ASSERT_EQ(run("convert apart.1.et -o a.json --format chakra-json").code, 0);
  ASSERT_EQ(run("convert tr.1.et -o b.json --format chakra-json").code, 0);
  EXPECT_TRUE(read_text("a.json") == read_text("b.json"));
  const CliRun refused = run("convert both.json -o one.et");
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("2 ranks"));
}

TEST_F(DrawCommandTest, CutsAndBoxes) {
  const Json all = run_json("draw tr.0.et -o all.dot --passes all --collapse none --json");
  const Json layer = run_json("draw tr.0.et -o layer.dot --passes all --collapse layer --json");
  const Json block = run_json("draw tr.0.et -o block.dot --passes all --collapse block --json");
  const Json one = run_json("draw tr.0.et -o one.dot --layers 1 --json");
  EXPECT_GT(all["drawn_nodes"], block["drawn_nodes"]);
  EXPECT_GT(block["drawn_nodes"], layer["drawn_nodes"]);
  EXPECT_GT(all["drawn_nodes"], one["drawn_nodes"]);
  EXPECT_THAT(read_text("layer.dot"), HasSubstr("peripheries=2"));
  EXPECT_THAT(read_text("one.dot"), HasSubstr("transformer.h.1"));
  EXPECT_EQ(read_text("one.dot").find("transformer.h.0.attn.c_attn"), std::string::npos);
  const CliRun none = run("draw tr.0.et -o x.dot --layers 77");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no layer 77"));
}

TEST_F(DrawCommandTest, TooLargeAPictureNamesWhatHelps) {
  ASSERT_EQ(run("trace gpt2 --step generate --num-input-tokens 4 --num-output-tokens 20 -o big").code, 0);
  const CliRun done = run("draw big.0.et -o big.svg --collapse none --passes all");
  EXPECT_EQ(done.code, 5);
  EXPECT_THAT(done.err, HasSubstr("nodes"));
  EXPECT_THAT(done.err, HasSubstr("--layers 0-1"));
  EXPECT_THAT(done.err, HasSubstr("--collapse layer"));
  EXPECT_FALSE(std::filesystem::exists("big.svg"));
}

TEST_F(DrawCommandTest, WithoutGraphvizItSaysWhatToInstall) {
  const TemporaryVariable path("PATH", "/nowhere");
  const CliRun done = run("draw tr.0.et -o g.png");
  EXPECT_EQ(done.code, 4);
  EXPECT_THAT(done.err, HasSubstr("package graphviz"));
  EXPECT_EQ(run("draw tr.0.et -o g.dot").code, 0);
}

TEST(VisualizeTrace, LeavesFourFilesBesideTheTrace) {
  const WorkingFolder folder;
  const std::string words = "generate gpt2-tiny --num-input-tokens 4 --num-output-tokens 3 --threads 1 ";
  if (!has_dot()) {
    EXPECT_EQ(run(words + "--visualize-trace").code, 4);
    return;
  }
  const CliRun done = run(words + "--visualize-trace --trace out/g");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(read_text("out/tensor_trace_graph.png"), StartsWith("\x89PNG"));
  EXPECT_THAT(read_text("out/tensor_comm_graph.png"), StartsWith("\x89PNG"));
  EXPECT_GT(Json::parse(read_text("out/tensor_trace_graph.json"))["nodes"].size(), 100u);
  EXPECT_EQ(run("check out/tensor_trace_chakra.json").code, 0);
  const CliRun again = run(words + "--visualize-trace --trace out/h");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("tensor_trace_graph.png"));
}

TEST_F(DrawCommandTest, MisuseIsSaid) {
  struct Misuse {
    std::string words, said;
    int code = 2;
  };
  write_text("there.dot", "");
  write_text("bad.json",
             R"({"directed": true, "nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]})");
  for (const Misuse& misuse :
       {Misuse{"draw -o g.svg", "nothing to draw"}, Misuse{"draw tr.0.et", "--output is missing"},
        Misuse{"draw tr.0.et -o g.bmp", "known endings"}, Misuse{"draw tr.0.et -o there.dot", "exists"},
        Misuse{"draw tr.0.et -o g.dot --edges-key links", "node-link JSON"},
        Misuse{"draw tr.0.et -o g.dot --comm --collapse layer", "--comm"},
        Misuse{"draw tr.0.et -o g.et --layers 0", "--layers does not apply to --format chakra"},
        Misuse{"draw nowhere.et -o g.dot", "nowhere.et", 3},
        Misuse{"draw bad.json -o g.dot --strict", "not in the file", 3}}) {
    const CliRun done = run(misuse.words);
    EXPECT_EQ(done.code, misuse.code) << misuse.words << done.err;
    EXPECT_THAT(done.err, HasSubstr(misuse.said)) << misuse.words;
  }
}

TEST_F(DrawCommandTest, HostileNamesStayTexts) {
  // As JSON: the end of a script, quotes, control characters, right-to-left, 10,000 characters.
  const std::string name =
      R"(</script><script>alert(1)</script>\"'\\ \u0000\u0007\u001b[31m\u202eabc &amp; ]]> )" +
      std::string(10000, 'x');
  write_text("hostile.json",
             R"({"directed": true, "multigraph": false, "graph": {"a<b": "c\u0001"}, "nodes": [{"id": ")" +
                 name +
                 R"(", "layer": "<i>\u0002.3", "x\u0003y": 1}, {"id": "t", "type": "tensor", "shape": [2]}],
      "edges": [{"source": "t", "target": ")" +
                 name + "\"}]}");
  for (const std::string format : {"dot", "graphml", "json", "html"}) {
    const CliRun done = run("draw hostile.json -o h." + format);
    EXPECT_EQ(done.code, 0) << done.err;
    if (format == "json") continue;  // where JSON escapes them
    const std::string text = read_text("h." + format);
    if (format != "dot") {  // where it is a text in quotes
      EXPECT_EQ(text.find("<script>alert"), std::string::npos) << format;
    }
    for (const char control : {'\0', '\x01', '\x02', '\x03', '\x07', '\x1b'})
      EXPECT_EQ(text.find(control), std::string::npos) << format;
  }
  EXPECT_TRUE(Json::parse(read_text("h.json"))["nodes"][0]["id"] == Json::parse("\"" + name + "\""));
  if (has_dot()) {
    EXPECT_EQ(run("draw hostile.json -o h.svg").code, 0);
  }
}

}  // namespace
}  // namespace nadi::inline show
