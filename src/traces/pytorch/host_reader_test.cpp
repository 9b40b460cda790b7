#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/pytorch_for_tests.h"

namespace nadi::inline traces {
namespace {

using nlohmann::json;
using Kind = TraceAttributeKind;

std::string document(const std::string& nodes, const std::string& schema = "1.1.1-chakra.0.0.4") {
  return R"({"schema": ")" + schema +
         R"(", "pid": 402, "time": "2026-11-15 01:08:37", "start_ts": 51293, "nodes": [)" + nodes +
         R"(], "finish_ts": 51784})";
}

HostTrace read(const std::string& nodes, const HostReadOptions& options = {}) {
  return read_host_trace(document(nodes), "h.json", options);
}

Error refused(const std::string& nodes, std::string_view at) {
  const std::string text = document(nodes);
  const Error error = error_of([&] { read_host_trace(text, "h.json"); });
  EXPECT_EQ(error.kind(), ErrorKind::kInput);
  EXPECT_EQ(error.place().file, "h.json");
  EXPECT_EQ(error.place().byte, static_cast<std::int64_t>(text.find(at))) << error.what();
  return error;
}

const std::string kNode = R"json(
  {"id": 5, "name": "aten::view", "ctrl_deps": 4,
   "inputs": {"values": [[6,7,0,2048,8,"cuda:0"],[-1]], "shapes": [[4,512],[[]]],
              "types": ["Tensor(long int)","GenericList[Int]"], "strides": [[512,1],[[]]]},
   "outputs": {"values": [[8,7,0,2048,8,"cuda:0"]], "shapes": [[2048]], "types": ["Tensor(long int)"],
               "strides": [[1]]},
   "attrs": [{"name": "rf_id", "type": "uint64", "value": 3},{"name": "seq_id", "type": "int64", "value": -1},
             {"name": "tid", "type": "uint64", "value": 1},
             {"name": "op_schema", "type": "string", "value": "aten::view(\"a\")"},
             {"name": "kernel_file", "type": "string", "value": ""}]})json";

TEST(HostReader, ReadsNodesOfTheCurrentSchema) {
  const HostTrace trace = read(kNode);
  EXPECT_EQ(trace.file, "h.json");
  EXPECT_EQ(trace.schema, "1.1.1-chakra.0.0.4");
  EXPECT_EQ(trace.process, 402);
  EXPECT_EQ(trace.nodes.metadata.attributes.find("start_ts")->integer(), 51293);
  EXPECT_EQ(trace.nodes.metadata.attributes.find("finish_ts")->integer(), 51784);
  EXPECT_EQ(trace.nodes.metadata.attributes.find("time")->string(), "2026-11-15 01:08:37");
  ASSERT_EQ(trace.nodes.size(), 1u);
  EXPECT_EQ(trace.nodes.id(0), TraceNodeId{5});
  EXPECT_EQ(trace.nodes.name(0), "aten::view");
  ASSERT_EQ(trace.nodes.ctrl_deps(0).size(), 1u);
  EXPECT_EQ(trace.nodes.ctrl_deps(0)[0], TraceNodeId{4});
  EXPECT_EQ(trace.nodes.inputs(0).values, R"([[6,7,0,2048,8,"cuda:0"],[-1]])");
  EXPECT_EQ(trace.nodes.inputs(0).shapes, "[[4,512],[[]]]");
  EXPECT_EQ(trace.nodes.inputs(0).types, R"json(["Tensor(long int)","GenericList[Int]"])json");
  EXPECT_EQ(trace.nodes.outputs(0).shapes, "[[2048]]");
  EXPECT_EQ(trace.record_function[0], 3u);
  EXPECT_EQ(trace.thread[0], 1u);
  ASSERT_EQ(trace.nodes.attribute_count(0), 7u);
  EXPECT_EQ(trace.nodes.find_attribute(0, "rf_id")->kind, Kind::kUint64);
  EXPECT_EQ(trace.nodes.find_attribute(0, "seq_id")->kind, Kind::kInt64);
  EXPECT_EQ(trace.nodes.find_attribute(0, "seq_id")->integer(), -1);
  EXPECT_EQ(trace.nodes.find_attribute(0, "op_schema")->string(), "aten::view(\"a\")");
  EXPECT_EQ(trace.nodes.find_attribute(0, "kernel_file")->string(), "");
  EXPECT_EQ(trace.nodes.find_attribute(0, "input_strides")->string(), "[[512,1],[[]]]");
  EXPECT_EQ(trace.nodes.find_attribute(0, "output_strides")->string(), "[[1]]");
}

TEST(HostReader, ReadsSchema101WithTheSameResult) {
  const std::string flat = R"json({"name": "aten::view", "id": 5, "rf_id": 3, "parent": 4, "fw_parent": 0,
    "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "aten::view", "inputs": [[6,7]],
    "input_shapes": [[4]], "input_types": ["Tensor(float)"], "outputs": [[8,7]], "output_shapes": [[5]],
    "output_types": ["Tensor(float)"]})json";
  const std::string listed = R"json({"id": 5, "name": "aten::view", "ctrl_deps": 4,
    "inputs": {"values": [[6,7]], "shapes": [[4]], "types": ["Tensor(float)"]},
    "outputs": {"values": [[8,7]], "shapes": [[5]], "types": ["Tensor(float)"]},
    "attrs": [{"name": "rf_id", "type": "uint64", "value": 3}, {"name": "fw_parent", "type": "uint64", "value": 0},
      {"name": "seq_id", "type": "int64", "value": -1}, {"name": "scope", "type": "uint64", "value": 0},
      {"name": "tid", "type": "uint64", "value": 1}, {"name": "fw_tid", "type": "uint64", "value": 0},
      {"name": "op_schema", "type": "string", "value": "aten::view"}]})json";
  const HostTrace old = read_host_trace(document(flat, "1.0.1"), "h.json");
  const HostTrace now = read_host_trace(document(listed, "1.0.3-chakra.0.0.4"), "h.json");
  TraceNode a;
  TraceNode b;
  old.nodes.get(0, a);
  now.nodes.get(0, b);
  EXPECT_TRUE(a == b);
  EXPECT_EQ(old.record_function, now.record_function);
  EXPECT_EQ(old.thread, now.thread);
}

TEST(HostReader, KnowsRootsByNoParent) {
  const HostTrace trace =
      read(R"({"id": 1, "name": "process", "ctrl_deps": 1}, {"id": 2, "name": "a", "ctrl_deps": 0},
    {"id": 3, "name": "b", "ctrl_deps": null}, {"id": 4, "name": "c"}, {"id": 5, "name": "d", "ctrl_deps": 3})");
  for (std::size_t row = 0; row < 4; ++row) EXPECT_TRUE(trace.nodes.ctrl_deps(row).empty()) << row;
  ASSERT_EQ(trace.nodes.ctrl_deps(4).size(), 1u);
  EXPECT_EQ(trace.nodes.ctrl_deps(4)[0], TraceNodeId{3});
  EXPECT_EQ(trace.record_function[0], 0u);
}

TEST(HostReader, TakesGroupsFromTheirNode) {
  const auto node = [](std::string_view groups) {
    return R"({"id": 3, "name": "## process_group:init ##", "inputs": {"values": [)" + json(groups).dump() +
           R"(], "shapes": [[]], "types": ["String"]}})";
  };
  const HostTrace trace = read(node(
      R"([{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4, "group_count": 2},
          {"pg_name": "1", "pg_desc": "tp", "ranks": [0, 1], "group_size": 2, "group_count": 2}])"));
  ASSERT_EQ(trace.groups.size(), 2u);
  EXPECT_EQ(trace.groups[0].name, "0");
  EXPECT_TRUE(trace.groups[0].ranks.empty());
  EXPECT_EQ(trace.groups[1].description, "tp");
  EXPECT_EQ(trace.groups[1].ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_TRUE(read(R"({"id": 3, "name": "## process_group:init ##"})").groups.empty());
  refused(node("[{"), R"(["[{"])");
  refused(node(R"([{"ranks": 5}])"), R"(["[{)");
}

TEST(HostReader, KeepsTypesOfAttributesAndWhatElseANodeHas) {
  const HostTrace trace = read(R"({"id": 1, "name": "a", "extra": 7, "more": {"x": [1]}, "attrs": [
    {"type": "int32", "value": -5, "name": "i"}, {"value": true, "name": "b", "type": "bool"},
    {"name": "d", "type": "double", "value": 3}, {"name": "s", "type": "string", "value": ["a"]},
    {"name": "u", "type": "uint64", "value": 18446744073709551615}, {"name": "u", "type": "uint64", "value": 9}]})");
  const auto get = [&](std::string_view name) { return *trace.nodes.find_attribute(0, name); };
  EXPECT_EQ(get("i").kind, Kind::kInt32);
  EXPECT_EQ(get("i").integer(), -5);
  EXPECT_EQ(get("b").kind, Kind::kBool);
  EXPECT_EQ(get("b").integer(), 1);
  EXPECT_EQ(get("d").real(), 3.0);
  EXPECT_EQ(get("s").string(), R"(["a"])");
  EXPECT_EQ(get("u").kind, Kind::kUint64);
  EXPECT_EQ(get("u").integer(), 9);  // the last counts
  EXPECT_EQ(get("extra").integer(), 7);
  EXPECT_EQ(get("more").string(), R"({"x": [1]})");
  EXPECT_EQ(trace.nodes.attribute_count(0), 7u);
}

TEST(HostReader, CanPassOverAttributes) {
  const HostTrace trace =
      read(kNode + R"(, {"id": 9, "name": "record_param_comms", "inputs": {"values": [1], "shapes": [[]],
    "types": ["Int"]}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 8},
    {"name": "dtype", "type": "string", "value": "Float"}, {"name": "scope", "type": "uint64", "value": 0}]})",
           {.attributes = false});
  EXPECT_EQ(trace.nodes.attribute_count(0), 0u);
  EXPECT_EQ(trace.nodes.inputs(0).values, "");
  EXPECT_EQ(trace.record_function, (std::vector<std::uint64_t>{3, 8}));
  EXPECT_EQ(trace.nodes.attribute_count(1), 1u);
  EXPECT_EQ(trace.nodes.find_attribute(1, "dtype")->string(), "Float");
  EXPECT_EQ(trace.nodes.inputs(1).values, "[1]");
}

TEST(HostReader, NamesTheByteOfWhatItRefuses) {
  refused(R"({"name": "a"})", R"({"name": "a"})");
  refused(R"({"id": -7})", "-7");
  refused(R"({"id": "one"})", R"("one")");
  refused(R"({"id": 1, "ctrl_deps": 2.5})", "2.5");
  refused(R"({"id": 1, "ctrl_deps": [2]})", "[2]");
  refused(R"({"id": 1, "name": 5})", "5}");
  refused(R"({"id": 1, "attrs": {}})", "{}");
  refused(R"({"id": 1, "attrs": [7]})", "7]");
  refused(R"({"id": 1, "attrs": [{"name": "a", "type": "int64"}]})", R"({"name": "a")");
  refused(R"({"id": 1, "attrs": [{"type": "int64", "value": 5}]})", R"({"type")");
  refused(R"({"id": 1, "attrs": [{"name": "a", "type": "int64", "value": "x"}]})", R"("x")");
  refused(R"({"id": 1, "attrs": [{"name": "a", "type": "uint64", "value": -7}]})", "-7");
  refused(R"({"id": 1, "attrs": [{"name": "a", "type": "int32", "value": 3000000000}]})", "3000000000");
  refused(R"({"id": 1, "attrs": [{"name": "a", "type": "string", "value": 8}]})", "8}");
  const Error error = refused(R"({"id": 1, "attrs": [{"name": "a", "type": "tensor", "value": 8}]})", "8}");
  EXPECT_NE(error.message().find("'tensor'"), std::string::npos);
  refused(R"({"id": 1, "inputs": {"values": [1 2]}})", "2]");
}

TEST(HostReader, NamesTheSchemasItKnows) {
  for (const char* schema :
       {"1.0.1", "1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.1.0-chakra.0.0.4", "1.1.1-chakra.0.0.4"})
    EXPECT_EQ(read_host_trace(document(kNode, schema), "h.json").schema, schema);
  const std::string text = document(kNode, "9.9.9");
  const Error error = error_of([&] { read_host_trace(text, "h.json"); });
  EXPECT_EQ(error.place().byte, static_cast<std::int64_t>(text.find("\"9.9.9\"")));
  EXPECT_NE(error.hint().find("1.0.3"), std::string::npos);
  EXPECT_EQ(read_host_trace(text, "h.json", {.damage = JsonDamage::kSkip}).nodes.size(), 1u);
  const std::string none = R"({"nodes": [{"id": 1}]})";
  EXPECT_NE(error_of([&] { read_host_trace(none, "h.json"); }).message().find("no schema"),
            std::string::npos);
  EXPECT_EQ(read_host_trace(none, "h.json", {.damage = JsonDamage::kSkip}).nodes.size(), 1u);
}

TEST(HostReader, RefusesOtherFiles) {
  for (const JsonDamage damage : {JsonDamage::kRefuse, JsonDamage::kSkip})
    for (const std::string text : {"{}", R"({"traceEvents": []})", "[]", "hello"})
      EXPECT_EQ(error_of([&] { read_host_trace(text, "h.json", {.damage = damage}); }).kind(),
                ErrorKind::kInput);
  EXPECT_EQ(read(std::string()).nodes.size(), 0u);
}

TEST(HostReader, GoesOnIfAsked) {
  const HostReadOptions lenient{.damage = JsonDamage::kSkip};
  const HostTrace trace = read(R"({"id": 1, "name": "a"}, {"name": "no id"}, {"id": 2, "name": "quo"te"},
    {"id": 3, "name": "b", "attrs": [{"name": "x", "type": "uint64", "value": -7}, {"name": "y", "type": "odd", "value": 1.5}]})",
                               lenient);
  ASSERT_EQ(trace.nodes.size(), 2u);
  EXPECT_EQ(trace.nodes.name(1), "b");
  EXPECT_EQ(trace.nodes.find_attribute(1, "x")->kind, Kind::kInt64);
  EXPECT_EQ(trace.nodes.find_attribute(1, "y")->real(), 1.5);
  EXPECT_EQ(trace.damage.dropped_records, 2u);
}

// An observer that was started twice writes two documents into one file.
// PyTorch closes the list when the observer is unregistered, which some programs never do.
TEST(HostReader, TakesAFileThatEndsBehindANode) {
  const std::string whole = document(kNode + "," + kNode);
  const std::string open = whole.substr(0, whole.rfind("]", whole.find(R"("finish_ts")")));
  for (const std::string& text : {open, open + "\n  "}) {
    const HostTrace trace = read_host_trace(text, "h.json");
    EXPECT_EQ(trace.nodes.size(), 2u);
    EXPECT_TRUE(trace.damage.left_open);
    EXPECT_FALSE(trace.damage.damaged());
    EXPECT_EQ(trace.process, 402);
  }
  EXPECT_FALSE(read_host_trace(whole, "h.json").damage.left_open);
}

// But not one that ends within a node, behind a comma, or within what follows the nodes.
TEST(HostReader, RefusesAFileThatEndsElsewhere) {
  const std::string whole = document(kNode + "," + kNode);
  const std::size_t second = document(kNode).rfind("]") - 1;
  const std::size_t end = whole.rfind("]");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string_view text = std::string_view(whole).substr(0, size);
    const bool is_behind_node = text.ends_with("}]}") && (size == end || size == second + 1);
    if (is_behind_node) continue;
    EXPECT_EQ(error_of([&] { read_host_trace(text, "h.json"); }).kind(), ErrorKind::kInput) << text;
  }
}

TEST(HostReader, HasALimitOfMemory) {
  std::string nodes;
  for (int i = 2; i < 600; ++i)
    nodes += (i > 2 ? "," : "") + (R"({"id": )" + std::to_string(i) + R"(, "name": "n)" + std::to_string(i) +
                                   std::string(1000, 'n') + R"(", "ctrl_deps": 1, "attrs": []})");
  EXPECT_EQ(read(nodes, {.damage = JsonDamage::kSkip, .memory = MemoryLimit(64_MiB)}).nodes.size(), 598u);
  const Error error =
      error_of([&] { read(nodes, {.damage = JsonDamage::kSkip, .memory = MemoryLimit(128_KiB)}); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
}

TEST(HostReader, TakesTheLastOfSeveralDocuments) {
  const std::string first =
      document(R"({"id": 1, "name": "first", "attrs": [{"name": "x", "type": "int64", "value": 1}]})");
  const std::string both =
      first +
      document(R"({"id": 1, "name": "second", "attrs": [{"name": "y", "type": "int64", "value": 1}]})");
  EXPECT_EQ(error_of([&] { read_host_trace(both, "h.json"); }).place().byte,
            static_cast<std::int64_t>(first.size()));
  const HostTrace trace = read_host_trace(both, "h.json", {.damage = JsonDamage::kSkip});
  ASSERT_EQ(trace.nodes.size(), 1u);
  EXPECT_EQ(trace.nodes.name(0), "second");
  EXPECT_EQ(trace.nodes.find_attribute(0, "y")->integer(), 1);
  EXPECT_EQ(trace.damage.dropped_documents, 1u);
}

struct RealHost {
  std::string name;
  std::string schema;
  std::size_t nodes;
};
class HostReal : public testing::TestWithParam<RealHost> {};

// Against a plain reading with nlohmann-json, node by node.
TEST_P(HostReal, AgreesWithAPlainReader) {
  if (!std::filesystem::exists(real_trace(GetParam().name))) GTEST_SKIP() << "the real traces are not there";
  const HostTrace trace = read_host_trace(real_trace(GetParam().name));
  EXPECT_EQ(trace.schema, GetParam().schema);
  ASSERT_EQ(trace.nodes.size(), GetParam().nodes);
  EXPECT_FALSE(trace.damage.damaged());
  const json file = json::parse(unpacked_trace(GetParam().name));
  EXPECT_EQ(trace.process, file.at("pid").get<std::int64_t>());
  for (std::size_t row = 0; row < trace.nodes.size(); ++row) {
    SCOPED_TRACE(row);
    const json& node = file.at("nodes")[row];
    EXPECT_EQ(to_number(trace.nodes.id(row)), node.at("id").get<std::uint64_t>());
    EXPECT_EQ(trace.nodes.name(row), node.at("name").get<std::string>());
    const auto parent = node.at("ctrl_deps").get<std::uint64_t>();
    const bool is_root = parent == node.at("id").get<std::uint64_t>();
    ASSERT_EQ(trace.nodes.ctrl_deps(row).size(), is_root ? 0u : 1u);
    if (!is_root) {
      EXPECT_EQ(to_number(trace.nodes.ctrl_deps(row)[0]), parent);
    }
    const IoInfo inputs = trace.nodes.inputs(row);
    const IoInfo outputs = trace.nodes.outputs(row);
    EXPECT_EQ(json::parse(inputs.values), node.at("inputs").at("values"));
    EXPECT_EQ(json::parse(inputs.shapes), node.at("inputs").at("shapes"));
    EXPECT_EQ(json::parse(inputs.types), node.at("inputs").at("types"));
    EXPECT_EQ(json::parse(outputs.values), node.at("outputs").at("values"));
    EXPECT_EQ(json::parse(outputs.shapes), node.at("outputs").at("shapes"));
    EXPECT_EQ(json::parse(outputs.types), node.at("outputs").at("types"));
    for (const json& attribute : node.at("attrs")) {
      const std::string name = attribute.at("name").get<std::string>();
      const std::optional<TraceAttribute> got = trace.nodes.find_attribute(row, name);
      ASSERT_TRUE(got) << name;
      EXPECT_EQ(to_string(got->kind), attribute.at("type").get<std::string>()) << name;
      if (attribute.at("value").is_string()) {
        EXPECT_EQ(got->string(), attribute.at("value").get<std::string>()) << name;
      } else {
        EXPECT_EQ(got->integer(), attribute.at("value").get<std::int64_t>()) << name;
      }
      if (name == "rf_id") {
        EXPECT_EQ(trace.record_function[row], attribute.at("value").get<std::uint64_t>());
      }
      if (name == "tid") {
        EXPECT_EQ(trace.thread[row], attribute.at("value").get<std::uint64_t>());
      }
    }
    const std::size_t strides = node.at("inputs").contains("strides") ? 2 : 0;
    EXPECT_EQ(trace.nodes.attribute_count(row), node.at("attrs").size() + strides);
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, HostReal,
                         testing::Values(RealHost{"gpt2_b4_t512_host", "1.1.1-chakra.0.0.4", 7087},
                                         RealHost{"bert_b4_t384_ddp_host", "1.1.1-chakra.0.0.4", 10194},
                                         RealHost{"resnet_2gpu_host", "1.0.3-chakra.0.0.4", 14391}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace nadi::inline traces
