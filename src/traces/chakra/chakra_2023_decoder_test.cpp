// Files of schemas 0.0.2 and 0.0.3, written by libprotobuf through code generated from
// testdata/chakra_2023_*. proto. Without protobuf these tests are skipped.
#include "nadi/chakra/chakra_2023_decoder.h"

#include <gtest/gtest.h>

#if NADI_TEST_WITH_PROTOBUF

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <span>
#include <string>
#include <vector>

#include "chakra_2023_06.pb.h"
#include "chakra_2023_07.pb.h"
#include "chakra_2023_08.pb.h"
#include "nadi/base/error.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {
namespace {

namespace pb = google::protobuf;
using Kind = TraceAttributeKind;

void append_record(std::string& file, const pb::Message& message) {
  pb::io::StringOutputStream stream(&file);
  pb::io::CodedOutputStream out(&stream);
  out.WriteVarint32(static_cast<std::uint32_t>(message.ByteSizeLong()));
  message.SerializeToCodedStream(&out);
}

Trace read(const std::string& bytes, ChakraReadStats* stats = nullptr) {
  return read_chakra(std::as_bytes(std::span(bytes)), "old.et", {}, stats);
}

template <typename Node, typename Type>
auto* add_attribute(Node& node, const char* name, Type type) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

// As Chakra's converter of August 2023 wrote them: metadata, an op with tensors, a collective.
TEST(Chakra2023Decoder, ReadsAugust) {
  namespace old = Chakra202308;
  std::string file;
  old::GlobalMetadata metadata;
  add_attribute(metadata, "schema", old::STRING)->set_s("1.0.1");
  add_attribute(metadata, "pid", old::UINT)->set_u(114598);
  append_record(file, metadata);

  old::Node op;
  op.set_id(216);
  op.set_name("aten::mm");
  op.set_type(old::COMP_NODE);
  op.set_inputs("[[4, 5, 0, 64, 4, 'cuda:0']]");
  op.set_input_shapes("[[8, 8]]");
  op.set_input_types("['Tensor(float)']");
  op.set_outputs("[[6, 7, 0, 64, 4, 'cuda:0']]");
  op.set_output_shapes("[[8]]");
  op.set_output_types("['Tensor(half)']");
  add_attribute(op, "runtime", old::INT)->set_i(318);
  add_attribute(op, "fw_parent", old::UINT)->set_u(~std::uint64_t{0});
  add_attribute(op, "seq_id", old::INT)->set_i(-1);
  add_attribute(op, "op_schema", old::STRING)->set_s("aten::mm(Tensor a)");
  add_attribute(op, "share", old::FLOAT)->set_f(0.5F);
  add_attribute(op, "empty", old::UINT);  // the converter wrote this for what PyTorch did not say
  auto* documented = add_attribute(op, "flag", old::BOOL);
  documented->set_b(true);
  documented->set_doc_string("says so");
  append_record(file, op);

  old::Node collective;
  collective.set_id(217);
  collective.set_name("nccl:all_to_all");
  collective.set_type(old::COMM_COLL_NODE);
  collective.add_parent(216);
  add_attribute(collective, "comm_type", old::INT)->set_i(old::ALL_TO_ALL);
  add_attribute(collective, "comm_size", old::INT)->set_i(1 << 20);
  auto* dimensions = add_attribute(collective, "involved_dim", old::BOOLS);
  dimensions->add_bools(true);
  dimensions->add_bools(false);
  auto* counts = add_attribute(collective, "counts", old::UINTS);
  counts->add_uints(3);
  counts->add_uints(1000);
  auto* offsets = add_attribute(collective, "offsets", old::INTS);
  offsets->add_ints(-3);
  auto* words = add_attribute(collective, "words", old::STRINGS);
  words->add_strings("a");
  words->add_strings("");
  auto* shares = add_attribute(collective, "shares", old::FLOATS);
  shares->add_floats(1.5F);
  append_record(file, collective);

  ChakraReadStats stats;
  const Trace trace = read(file, &stats);
  EXPECT_EQ(stats.schema, ChakraSchema::kAugust2023);
  EXPECT_EQ(stats.unknown_fields.count, 0u);
  EXPECT_EQ(trace.metadata.version, "0.0.4");
  ASSERT_EQ(trace.metadata.attributes.size(), 2u);
  EXPECT_EQ(trace.metadata.attributes.find("pid")->integer(), 114598);
  EXPECT_EQ(trace.metadata.attributes.find("schema")->string(), "1.0.1");

  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.id(0), TraceNodeId{216});
  EXPECT_EQ(trace.type(0), NodeType::kComp);
  EXPECT_EQ(trace.duration(0), Nanoseconds{318'000});
  EXPECT_FALSE(trace.find_attribute(0, "runtime"));
  EXPECT_EQ(trace.inputs(0).values, "[[4, 5, 0, 64, 4, 'cuda:0']]");
  EXPECT_EQ(trace.inputs(0).shapes, "[[8, 8]]");
  EXPECT_EQ(trace.inputs(0).types, "['Tensor(float)']");
  EXPECT_EQ(trace.outputs(0).values, "[[6, 7, 0, 64, 4, 'cuda:0']]");
  EXPECT_EQ(trace.outputs(0).shapes, "[[8]]");
  EXPECT_EQ(trace.outputs(0).types, "['Tensor(half)']");
  EXPECT_EQ(trace.find_attribute(0, "fw_parent")->kind, Kind::kUint64);
  EXPECT_EQ(trace.find_attribute(0, "fw_parent")->bits, ~std::uint64_t{0});
  EXPECT_EQ(trace.find_attribute(0, "seq_id")->integer(), -1);
  EXPECT_EQ(trace.find_attribute(0, "op_schema")->string(), "aten::mm(Tensor a)");
  EXPECT_EQ(trace.find_attribute(0, "share")->real(), 0.5);
  EXPECT_EQ(trace.find_attribute(0, "empty")->kind, Kind::kNone);
  EXPECT_EQ(trace.find_attribute(0, "flag")->kind, Kind::kBool);
  EXPECT_EQ(trace.find_attribute(0, "flag")->doc, "says so");

  ASSERT_EQ(trace.data_deps(1).size(), 1u);
  EXPECT_EQ(trace.data_deps(1)[0], TraceNodeId{216});
  EXPECT_TRUE(trace.ctrl_deps(1).empty());
  EXPECT_EQ(trace.type(1), NodeType::kCommColl);
  EXPECT_EQ(trace.find_attribute(1, attribute_name::kCommType)->integer(), 6);  // ALL_TO_ALL since 0.0.4
  EXPECT_EQ(trace.find_attribute(1, attribute_name::kCommSize)->kind, Kind::kInt64);
  EXPECT_EQ(trace.find_attribute(1, attribute_name::kCommSize)->integer(), 1 << 20);
  EXPECT_EQ(trace.find_attribute(1, "involved_dim")->kind, Kind::kBoolList);
  EXPECT_EQ(trace.find_attribute(1, "involved_dim")->numbers[0], 1u);
  EXPECT_EQ(trace.find_attribute(1, "involved_dim")->numbers[1], 0u);
  EXPECT_EQ(trace.find_attribute(1, "counts")->numbers[1], 1000u);
  EXPECT_EQ(static_cast<std::int64_t>(trace.find_attribute(1, "offsets")->numbers[0]), -3);
  EXPECT_EQ(trace.find_attribute(1, "words")->texts[0], "a");
  EXPECT_EQ(trace.find_attribute(1, "words")->texts.size(), 2u);
  EXPECT_EQ(trace.find_attribute(1, "shares")->numbers[0], number_bits(1.5F));
}

// Attributes that simulators read have one kind only in these files, and get the kind that is asked for.
TEST(Chakra2023Decoder, GivesAttributesTheKindsThatSimulatorsAskFor) {
  namespace old = Chakra202308;
  std::string file;
  old::Node send;
  send.set_id(0);
  send.set_name("send");
  send.set_type(old::COMM_SEND_NODE);
  for (const char* name : {"comm_src", "comm_dst", "comm_tag", "comm_priority"})
    add_attribute(send, name, old::UINT)->set_u(2);
  add_attribute(send, "comm_size", old::UINT)->set_u(64);
  add_attribute(send, "num_ops", old::UINT)->set_u(7);
  add_attribute(send, "tensor_size", old::INT)->set_i(8);
  add_attribute(send, "is_cpu_op", old::INT)->set_i(1);
  append_record(file, send);
  const Trace trace = read(file);
  for (const std::string_view name : {"comm_src", "comm_dst", "comm_tag", "comm_priority"})
    EXPECT_EQ(trace.find_attribute(0, name)->kind, Kind::kInt32) << name;
  EXPECT_EQ(trace.find_attribute(0, "comm_size")->kind, Kind::kInt64);
  EXPECT_EQ(trace.find_attribute(0, "num_ops")->kind, Kind::kInt64);
  EXPECT_EQ(trace.find_attribute(0, "tensor_size")->kind, Kind::kUint64);
  EXPECT_EQ(trace.find_attribute(0, "is_cpu_op")->kind, Kind::kBool);

  send.mutable_attribute(0)->set_u(std::uint64_t{1} << 40);
  file.clear();
  append_record(file, send);
  EXPECT_THROW(read(file), Error);
}

// The numbers of the types and of the values' fields are others in each schema; so is that of broadcast.
TEST(Chakra2023Decoder, ReadsJuly) {
  namespace old = Chakra202307;
  std::string file;
  append_record(file, old::GlobalMetadata{});
  old::Node node;
  node.set_id(3);
  node.set_name("c");
  node.set_type(old::COMM_COLL_NODE);
  add_attribute(node, "comm_type", old::INT)->set_i(old::REDUCE_SCATTER);
  add_attribute(node, "label", old::STRING)->set_s("x");
  add_attribute(node, "runtime", old::INT)->set_i(5);
  add_attribute(node, "involved_dim", old::BOOLS)->add_bools(true);
  append_record(file, node);
  ChakraReadStats stats;
  const Trace trace = read(file, &stats);
  EXPECT_EQ(stats.schema, ChakraSchema::kJuly2023);
  EXPECT_EQ(trace.type(0), NodeType::kCommColl);
  EXPECT_EQ(trace.duration(0), Nanoseconds{5'000});
  EXPECT_EQ(trace.find_attribute(0, "comm_type")->integer(), 7);  // REDUCE_SCATTER since 0.0.4
  EXPECT_EQ(trace.find_attribute(0, "label")->string(), "x");
  EXPECT_EQ(trace.find_attribute(0, "involved_dim")->kind, Kind::kBoolList);
}

// Without METADATA, the type of a computation was 3; there was no GlobalMetadata yet.
TEST(Chakra2023Decoder, ReadsJune) {
  namespace old = Chakra202306;
  std::string file;
  old::Node first;
  first.set_id(1);
  first.set_name("COMP_NODE_FWD");
  first.set_type(old::COMP_NODE);
  add_attribute(first, "runtime", old::INT)->set_i(5);
  append_record(file, first);
  old::Node second;
  second.set_id(2);
  second.set_name("COMM_COLL_NODE");
  second.set_type(old::COMM_COLL_NODE);
  second.add_parent(1);
  add_attribute(second, "comm_type", old::INT)->set_i(old::ALL_REDUCE);
  add_attribute(second, "comm_size", old::INT)->set_i(65536);
  auto* dimensions = add_attribute(second, "involved_dim", old::INTS);
  dimensions->add_ints(1);
  dimensions->add_ints(0);
  append_record(file, second);
  ChakraReadStats stats;
  const Trace trace = read(file, &stats);
  EXPECT_EQ(stats.schema, ChakraSchema::kJune2023);
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.type(0), NodeType::kComp);
  EXPECT_EQ(trace.duration(0), Nanoseconds{5'000});
  EXPECT_EQ(trace.type(1), NodeType::kCommColl);
  EXPECT_EQ(trace.data_deps(1)[0], TraceNodeId{1});
  EXPECT_EQ(trace.find_attribute(1, "involved_dim")->kind, Kind::kBoolList);
  EXPECT_EQ(trace.find_attribute(1, "involved_dim")->numbers[0], 1u);
  EXPECT_EQ(trace.find_attribute(1, "involved_dim")->numbers[1], 0u);
}

// A file without any attribute is old if it has no metadata: newer ones always start with it.
TEST(Chakra2023Decoder, TakesAFileWithoutMetadataForAnOldOne) {
  namespace old = Chakra202308;
  std::string file;
  for (std::uint64_t id = 0; id < 3; ++id) {
    old::Node node;
    node.set_id(id);
    node.set_name("a");
    node.set_type(old::COMP_NODE);
    if (id > 0) node.add_parent(id - 1);
    append_record(file, node);
  }
  ChakraReadStats stats;
  const Trace trace = read(file, &stats);
  EXPECT_EQ(stats.schema, ChakraSchema::kAugust2023);
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace.data_deps(2)[0], TraceNodeId{1});
}

TEST(Chakra2023Decoder, WhatWasReadIsWrittenAsAFileOfToday) {
  namespace old = Chakra202308;
  std::string file;
  old::Node node;
  node.set_id(1);
  node.set_name("a");
  node.set_type(old::COMP_NODE);
  add_attribute(node, "runtime", old::INT)->set_i(5);
  append_record(file, node);
  const Trace trace = read(file);
  std::string today;
  write_chakra(trace, [&](std::string_view part) { today += part; });
  ChakraReadStats stats;
  const Trace again = read(today, &stats);
  EXPECT_EQ(stats.schema, ChakraSchema::kCurrent);
  TraceNode a, b;
  trace.get(0, a);
  again.get(0, b);
  EXPECT_TRUE(a == b);
}

}  // namespace
}  // namespace nadi::inline traces

#else

TEST(Chakra2023Decoder, NeedsProtobuf) {
  GTEST_SKIP() << "protobuf was not found when the tests were configured";
}

#endif
