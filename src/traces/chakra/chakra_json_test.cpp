// The JSON writer and reader against each other, against libprotobuf's own JSON mapping, and on files that
// are laid out as others lay them out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/chakra/chakra_json_reader.h"
#include "nadi/chakra/chakra_json_writer.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/random_node_for_tests.h"

#if NADI_TEST_WITH_PROTOBUF
#include <google/protobuf/util/json_util.h>

#include "chakra.pb.h"
#endif

namespace nadi::inline traces {
namespace {

using testing::HasSubstr;

// JSON has one NaN only.
bool has_nan(const TraceNode& node) {
  const auto is_nan = [](TraceAttributeKind kind, std::uint64_t bits) {
    if (kind == TraceAttributeKind::kDouble) return std::isnan(std::bit_cast<double>(bits));
    return kind == TraceAttributeKind::kFloat &&
           std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  };
  for (const TraceAttribute& attribute : node.attributes) {
    if (is_nan(attribute.kind, attribute.bits)) return true;
    if (!is_list(attribute.kind)) continue;
    for (const std::uint64_t bits : attribute.numbers)
      if (is_nan(element_kind(attribute.kind), bits)) return true;
  }
  return false;
}

Trace random_trace(std::uint64_t seed, int nodes) {
  Trace trace;
  RandomNodes random(seed);
  TraceNode node;
  for (int i = 0; i < nodes; ++i) {
    random.fill(node);
    if (has_nan(node)) node.attributes.clear();
    trace.add(node);
  }
  trace.metadata.attributes.add_int64("rank", 3);
  trace.metadata.attributes.add_text("model", "gpt2 \"tiny\"");
  return trace;
}

std::string json_of(const Trace& trace, ChakraJsonForm form = ChakraJsonForm::kLines) {
  std::string json;
  write_chakra_json(
      trace, [&](std::string_view part) { json += part; }, form);
  return json;
}

void expect_same(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.size(), b.size());
  TraceNode x, y;
  for (std::size_t row = 0; row < a.size(); ++row) {
    a.get(row, x);
    b.get(row, y);
    ASSERT_TRUE(x == y) << "row " << row;
  }
  EXPECT_EQ(a.metadata.version, b.metadata.version);
  EXPECT_TRUE(std::ranges::equal(a.metadata.attributes, b.metadata.attributes));
}

std::string error_of(std::string_view json) {
  try {
    read_chakra_json(json, "t.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "was read";
}

TEST(ChakraJson, WritesWhatTheMappingSays) {
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{7};
  node.name = "a\"b\n";
  node.type = NodeType::kCommColl;
  node.ctrl_deps = {TraceNodeId{1}};
  node.data_deps = {TraceNodeId{2}, TraceNodeId{3}};
  node.start = Nanoseconds{5'000};
  node.duration = Nanoseconds{1'234};
  node.inputs.shapes = "[[64]]";
  add_comm_type(node, CollectiveType::kAllReduce);
  add_comm_src(node, -1);
  node.attributes.add_double("share", 0.1);
  node.attributes.add_double("none", std::nan(""));
  const std::array dimensions{true, false};
  node.attributes.add_bool_list(attribute_name::kInvolvedDimensions, dimensions);
  trace.add(node);
  EXPECT_EQ(json_of(trace),
            R"({"version":"0.0.4"})"
            "\n"
            R"({"id":"7","name":"a\"b\n","type":"COMM_COLL_NODE","ctrlDeps":["1"],"dataDeps":["2","3"],)"
            R"("startTimeMicros":"5","durationMicros":"1","inputs":{"shapes":"[[64]]"},"attr":[)"
            R"({"name":"comm_type","int64Val":"0"},{"name":"comm_src","int32Val":-1},)"
            R"({"name":"share","doubleVal":0.1},{"name":"none","doubleVal":"NaN"},)"
            R"({"name":"involved_dim","boolList":{"values":[true,false]}},)"
            R"({"name":"duration_ns","int64Val":"1234"}]})"
            "\n");
}

TEST(ChakraJson, WhatIsWrittenIsReadBack) {
  const Trace trace = random_trace(21, 3000);
  for (const ChakraJsonForm form : {ChakraJsonForm::kDocument, ChakraJsonForm::kLines}) {
    ChakraReadStats stats;
    const Trace again = read_chakra_json(json_of(trace, form), "t.json", {}, &stats);
    expect_same(trace, again);
    EXPECT_EQ(stats.nodes, 3000u);
    EXPECT_EQ(stats.unknown_fields.count, 0u);
  }
}

// As json.load of Python reads it: one object, whose nodes are those of the lines.
TEST(ChakraJson, ADocumentIsOneObject) {
  const Trace trace = random_trace(4, 50);
  const Json document = Json::parse(json_of(trace, ChakraJsonForm::kDocument));
  EXPECT_EQ(document.size(), 3u);
  EXPECT_EQ(document["schema"], "chakra 0.0.4");
  EXPECT_EQ(document["metadata"]["version"], "0.0.4");
  std::istringstream lines(json_of(trace));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(Json::parse(line), document["metadata"]);
  for (const Json& node : document["nodes"]) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line), node);
  }
  EXPECT_EQ(document["nodes"].size(), 50u);
  const Json empty = Json::parse(json_of(Trace{}, ChakraJsonForm::kDocument));
  EXPECT_EQ(empty["nodes"], Json::array());
}

TEST(ChakraJson, ReadsEveryLayout) {
  constexpr std::string_view kMetadata = R"({"version": "0.0.4", "attr": [{"name": "rank", "int64Val": 5}]})";
  constexpr std::string_view kFirst = R"({"id": 1, "name": "a", "type": 4})";
  constexpr std::string_view kSecond = R"({"id": "2", "name": "b", "type": "COMP_NODE", "data_deps": [1]})";
  const auto check_nodes = [&](const std::string& json, bool metadata) {
    SCOPED_TRACE(json);
    const Trace trace = read_chakra_json(json, "t.json");
    ASSERT_EQ(trace.size(), 2u);
    EXPECT_EQ(trace.name(0), "a");
    EXPECT_EQ(trace.type(1), NodeType::kComp);
    ASSERT_EQ(trace.data_deps(1).size(), 1u);
    EXPECT_EQ(trace.data_deps(1)[0], TraceNodeId{1});
    const TraceAttribute* rank = trace.metadata.attributes.find("rank");
    ASSERT_EQ(rank != nullptr, metadata);
    if (metadata) {
      EXPECT_EQ(rank->integer(), 5);
      EXPECT_EQ(trace.metadata.version, "0.0.4");
    }
  };
  const std::string m(kMetadata), a(kFirst), b(kSecond);
  check_nodes(m + a + b, true);
  check_nodes(m + "\n" + a + "\n  " + b + "\n", true);
  check_nodes("{}" + a + b, false);
  check_nodes(a + b, false);
  check_nodes(R"({"metadata": )" + m + R"(, "nodes": [)" + a + ", " + b + "]}", true);
  check_nodes(R"({"node": [)" + a + ", " + b + R"(], "globalMetadata": )" + m + "}", true);
  check_nodes(R"({"global_metadata": )" + m + R"(, "node": [)" + a + ", " + b + "]}", true);
  check_nodes("[" + a + ", " + b + "]", false);
}

TEST(ChakraJson, ReadsTheInputOfChakrasFeeder) {
  const Trace trace = read_chakra_json(
      R"({"workload_graph": [
        {"Id": 216, "Name": "a", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 318, "is_cpu_op": true},
        {"Id": 435, "Name": "b", "NodeType": 7, "ctrlDeps": [216], "data_deps": [216], "runtime": 28,
         "is_cpu_op": false, "tensor_size": 64, "comm_type": 5, "comm_size": 1024, "comm_priority": 0,
         "comm_src": 1, "comm_dst": 2, "comm_tag": 3}]})",
      "t.json");
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.id(1), TraceNodeId{435});
  EXPECT_EQ(trace.duration(0), Nanoseconds{318'000});
  EXPECT_EQ(trace.ctrl_deps(1)[0], TraceNodeId{216});
  EXPECT_EQ(trace.find_attribute(0, "is_cpu_op")->kind, TraceAttributeKind::kBool);
  EXPECT_EQ(trace.find_attribute(1, "tensor_size")->kind, TraceAttributeKind::kUint64);
  EXPECT_EQ(trace.find_attribute(1, "comm_size")->kind, TraceAttributeKind::kInt64);
  EXPECT_EQ(trace.find_attribute(1, "comm_tag")->kind, TraceAttributeKind::kInt32);
  EXPECT_EQ(trace.find_attribute(1, "comm_tag")->integer(), 3);
}

TEST(ChakraJson, TakesValuesAsTheMappingAllowsThem) {
  const Trace trace = read_chakra_json(
      R"({}{"id": 1.0, "name": null, "startTimeMicros": 2e3, "attr": [
        {"name": "a", "int64_val": 5}, {"int64Val": "-5", "name": "b"}, {"name": "c", "uint64Val": "18446744073709551615"},
        {"name": "d", "floatVal": "-Infinity"}, {"name": "e", "double_val": "1.5"}, {"name": "f", "bytesVal": "-_8"},
        {"name": "g", "bytesList": {"values": ["+/8=", ""]}}, {"name": "h", "docString": "x"},
        {"name": "i", "int32List": {}}, {"name": "j", "int32List": {"values": null}}, {"name": "k", "boolVal": false}]})",
      "t.json");
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.id(0), TraceNodeId{1});
  EXPECT_EQ(trace.start(0), Nanoseconds{2'000'000});
  EXPECT_EQ(trace.find_attribute(0, "a")->integer(), 5);
  EXPECT_EQ(trace.find_attribute(0, "b")->integer(), -5);
  EXPECT_EQ(trace.find_attribute(0, "c")->bits, ~std::uint64_t{0});
  EXPECT_EQ(trace.find_attribute(0, "d")->real(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(trace.find_attribute(0, "e")->real(), 1.5);
  EXPECT_EQ(trace.find_attribute(0, "f")->string(), "\xfb\xff");
  EXPECT_EQ(trace.find_attribute(0, "g")->texts[0], "\xfb\xff");
  EXPECT_EQ(trace.find_attribute(0, "g")->texts[1], "");
  EXPECT_EQ(trace.find_attribute(0, "h")->kind, TraceAttributeKind::kNone);
  EXPECT_EQ(trace.find_attribute(0, "i")->kind, TraceAttributeKind::kInt32List);
  EXPECT_EQ(trace.find_attribute(0, "j")->kind, TraceAttributeKind::kInt32List);
  EXPECT_EQ(trace.find_attribute(0, "k")->kind, TraceAttributeKind::kBool);
}

TEST(ChakraJson, CountsMembersThatItDoesNotKnow) {
  ChakraReadStats stats;
  read_chakra_json(
      R"({"nodes": [{"id": 1, "colour": "red", "attr": [{"name": "a", "boolVal": true, "x": {}}]}], "y": 1})",
      "t.json", {}, &stats);
  EXPECT_EQ(stats.unknown_fields.count, 3u);
  EXPECT_EQ(stats.unknown_fields.first_name, "colour");
  EXPECT_EQ(stats.unknown_fields.first_byte, 11u);  // of the node
}

TEST(ChakraJson, NamesWhatIsWrong) {
  EXPECT_THAT(error_of(R"({}{"id": -1})"),
              HasSubstr("t.json: byte 2: id is no whole number of at least 0 in 64 bits"));
  EXPECT_THAT(error_of(R"({}{"id": 1.5})"), HasSubstr("id is no whole number"));
  EXPECT_THAT(error_of(R"({}{"id": true})"), HasSubstr("id is a boolean, expected a number"));
  EXPECT_THAT(error_of(R"({}{"id": "x"})"), HasSubstr("id is no whole number"));
  EXPECT_THAT(error_of(R"({}{"name": 5})"), HasSubstr("name is a number, expected a text"));
  EXPECT_THAT(error_of(R"({}{"type": "COMP"})"), HasSubstr("node type 'COMP' is not known"));
  EXPECT_THAT(error_of(R"({}{"type": 8})"), HasSubstr("node type 8 is not known"));
  EXPECT_THAT(error_of(R"({}{"data_deps": 5})"), HasSubstr("data_deps is a number, expected an array"));
  EXPECT_THAT(error_of(R"({}{"inputs": []})"), HasSubstr("inputs is an array, expected an object"));
  EXPECT_THAT(error_of(R"({}{"attr": [5]})"), HasSubstr("an attribute is a number, expected an object"));
  EXPECT_THAT(error_of(R"({}{"attr": [{"int32Val": 2147483648}]})"),
              HasSubstr("int32Val of 2147483648 does not fit 32 bits"));
  EXPECT_THAT(error_of(R"({}{"attr": [{"floatVal": 1e300}]})"), HasSubstr("does not fit a float"));
  EXPECT_THAT(error_of(R"({}{"attr": [{"boolVal": 1}]})"),
              HasSubstr("boolVal is a number, expected true or false"));
  EXPECT_THAT(error_of(R"({}{"attr": [{"bytesVal": "a!"}]})"), HasSubstr("bytesVal is no Base64"));
  EXPECT_THAT(error_of(R"({}{"attr": [{"int64Val": 1, "boolVal": true}]})"), HasSubstr("has two values"));
  EXPECT_THAT(error_of(R"({}{"id": 1, "durationMicros": 9223372036854776})"),
              HasSubstr("is more than 9223372036854775"));
  EXPECT_THAT(
      error_of(R"({}{"id": 1, "durationMicros": 2, "attr": [{"name": "duration_ns", "int64Val": 5}]})"),
      HasSubstr("contradicts the node's 2 microseconds"));
  EXPECT_THAT(error_of(R"({}{"id": 1}{"id": 1})"), HasSubstr("t.json: byte 11: node id 1 is used twice"));
  EXPECT_THAT(error_of(R"({}{"id": 1, "data_deps": [2]})"), HasSubstr("which is not in the file"));
  EXPECT_THAT(error_of(R"({"version": "0.0.3"}{"id": 1})"), HasSubstr("unsupported schema '0.0.3'"));
  EXPECT_THAT(error_of("hello"), HasSubstr("does not start with a JSON object or array"));
  EXPECT_THAT(error_of(R"({"schemaVersion": 1, "traceEvents": []})"), HasSubstr("Kineto"));
  EXPECT_THAT(error_of(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": []})"),
              HasSubstr("execution trace of PyTorch"));
  EXPECT_THAT(error_of(R"({"directed": true, "multigraph": true, "nodes": [], "links": []})"),
              HasSubstr("node-link"));
}

TEST(ChakraJson, GoesOnBehindDamageWhereAsked) {
  constexpr std::string_view kDamaged =
      R"({"version": "0.0.4"}{"id": 1, "name": "a"}{"id": true}{"id": 2, "name": "b"}{"id": 3, "na)";
  EXPECT_NE(error_of(kDamaged), "was read");
  ChakraReadStats stats;
  const Trace trace =
      read_chakra_json(kDamaged, "t.json", {.damaged_records = DamagedRecords::kSkip}, &stats);
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.name(1), "b");
  EXPECT_GE(stats.dropped_records, 1u);
  EXPECT_TRUE(stats.cut_short);
  EXPECT_EQ(stats.first_dropped_byte, 42u);
}

#if NADI_TEST_WITH_PROTOBUF

namespace pb = google::protobuf;

TEST(ChakraJson, LibprotobufReadsWhatWeWriteAndWritesWhatWeRead) {
  constexpr int kNodes = 2000;
  const Trace trace = random_trace(22, kNodes);
  for (const bool as_in_schema : {false, true}) {
    std::string theirs = "{}";
    TraceNode node;
    for (std::size_t row = 0; row < kNodes; ++row) {
      trace.get(row, node);
      std::string json;
      append_node_json(json, node);
      ChakraProtoMsg::Node message;
      ASSERT_TRUE(pb::util::JsonStringToMessage(json, &message).ok()) << json;
      WireWriter ours;
      WholeMicroseconds each_by_itself;
      encode_node(ours, node, each_by_itself);
      ChakraProtoMsg::Node expected;
      ASSERT_TRUE(expected.ParseFromArray(ours.bytes().data(), static_cast<int>(ours.size())));
      ASSERT_EQ(message.SerializeAsString(), expected.SerializeAsString()) << json;
      pb::util::JsonPrintOptions options;
      options.preserve_proto_field_names = as_in_schema;
      options.always_print_enums_as_ints = as_in_schema;
      options.add_whitespace = as_in_schema;
      ASSERT_TRUE(pb::util::MessageToJsonString(expected, &theirs, options).ok());
    }
    const Trace again = read_chakra_json(theirs, "theirs.json");
    ASSERT_EQ(again.size(), trace.size());
    TraceNode a, b;
    for (std::size_t row = 0; row < kNodes; ++row) {
      trace.get(row, a);
      again.get(row, b);
      ASSERT_TRUE(a == b) << "row " << row;
    }
  }
}

#endif

TEST(ChakraJson, AnyOtherJsonIsNamed) {
  for (const std::string_view json : {R"({"a": 1})", R"([{"a": 1}])", R"([{"a": 1}, {"a": 2}])"})
    EXPECT_THAT(error_of(json), HasSubstr("this is a JSON file, not a Chakra trace")) << json;
  for (const std::string_view json : {"{\"a\": 1}\n{\"a\": 2}\n", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n"})
    EXPECT_THAT(error_of(json), HasSubstr("this is a file of JSON lines, not a Chakra trace")) << json;
  EXPECT_THAT(error_of(R"([{"id": 1, "name": "a", "type": 4}, {"a": 2}])"),
              HasSubstr("the record has no member of a node"));
  EXPECT_THAT(error_of(R"({"rocprofiler-sdk-tool": []})"), HasSubstr("this is a result of rocprofv3"));
}

}  // namespace
}  // namespace nadi::inline traces
