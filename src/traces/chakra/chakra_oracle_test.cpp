// The reader and the writer against libprotobuf, which encodes and decodes the same nodes through code
// generated from chakra.proto and from testdata/chakra_odd.proto. Without protobuf these tests are skipped.
#include <gtest/gtest.h>

#if NADI_TEST_WITH_PROTOBUF

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra.pb.h"
#include "chakra_odd.pb.h"
#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/chakra/whole_microseconds.h"
#include "nadi/trace/random_node_for_tests.h"

namespace nadi::inline traces {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

void set_or_add_number(pb::Message& message, const Field* field, std::uint64_t bits) {
  const pb::Reflection& r = *message.GetReflection();
  const bool list = field->is_repeated();
  const auto i32 = static_cast<std::int32_t>(bits);
  const auto u32 = static_cast<std::uint32_t>(bits);
  const auto i64 = static_cast<std::int64_t>(bits);
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return list ? r.AddInt32(&message, field, i32) : r.SetInt32(&message, field, i32);
    case Field::CPPTYPE_UINT32:
      return list ? r.AddUInt32(&message, field, u32) : r.SetUInt32(&message, field, u32);
    case Field::CPPTYPE_INT64:
      return list ? r.AddInt64(&message, field, i64) : r.SetInt64(&message, field, i64);
    case Field::CPPTYPE_UINT64:
      return list ? r.AddUInt64(&message, field, bits) : r.SetUInt64(&message, field, bits);
    case Field::CPPTYPE_BOOL:
      return list ? r.AddBool(&message, field, bits != 0) : r.SetBool(&message, field, bits != 0);
    case Field::CPPTYPE_DOUBLE:
      return list ? r.AddDouble(&message, field, std::bit_cast<double>(bits))
                  : r.SetDouble(&message, field, std::bit_cast<double>(bits));
    case Field::CPPTYPE_FLOAT:
      return list ? r.AddFloat(&message, field, std::bit_cast<float>(u32))
                  : r.SetFloat(&message, field, std::bit_cast<float>(u32));
    default:
      FAIL() << field->full_name();
  }
}

template <typename Attribute>
void fill(Attribute& message, const TraceAttribute& attribute) {
  message.set_name(std::string(attribute.name));
  message.set_doc_string(std::string(attribute.doc));
  if (attribute.kind == TraceAttributeKind::kNone) return;
  // A kind has the number of its field.
  const Field* field = message.GetDescriptor()->FindFieldByNumber(static_cast<int>(attribute.kind));
  ASSERT_NE(field, nullptr);
  if (is_list(attribute.kind)) {
    ASSERT_EQ(field->name(), to_string(attribute.kind));
    pb::Message* list = message.GetReflection()->MutableMessage(&message, field);
    const Field* values = list->GetDescriptor()->FindFieldByNumber(1);
    for (std::uint64_t bits : attribute.numbers) set_or_add_number(*list, values, bits);
    for (std::string_view text : attribute.texts)
      list->GetReflection()->AddString(list, values, std::string(text));
  } else if (is_text(attribute.kind)) {
    message.GetReflection()->SetString(&message, field, std::string(attribute.text));
  } else {
    ASSERT_EQ(field->name(), std::string(to_string(attribute.kind)) + "_val");
    set_or_add_number(message, field, attribute.bits);
  }
}

template <typename Io>
void fill(Io* message, const IoInfo& io) {
  message->set_values(std::string(io.values));
  message->set_shapes(std::string(io.shapes));
  message->set_types(std::string(io.types));
}

// Nodes in the order of the file: how durations are rounded depends on those before.
template <typename Node>
void fill(Node& message, const TraceNode& node, WholeMicroseconds& whole) {
  message.set_id(to_number(node.id));
  message.set_name(std::string(node.name));
  message.set_type(static_cast<decltype(message.type())>(node.type));
  for (TraceNodeId id : node.ctrl_deps) message.add_ctrl_deps(to_number(id));
  for (TraceNodeId id : node.data_deps) message.add_data_deps(to_number(id));
  message.set_start_time_micros(static_cast<std::uint64_t>(node.start.count() / 1000));
  message.set_duration_micros(static_cast<std::uint64_t>(whole.of(node)));
  if (!node.inputs.empty()) fill(message.mutable_inputs(), node.inputs);
  if (!node.outputs.empty()) fill(message.mutable_outputs(), node.outputs);
  for (const TraceAttribute& attribute : node.attributes) fill(*message.add_attr(), attribute);
  if (node.start.count() % 1000 != 0) {
    auto* exact = message.add_attr();
    exact->set_name("start_ns");
    exact->set_int64_val(node.start.count());
  }
  if (node.duration.count() % 1000 != 0) {
    auto* exact = message.add_attr();
    exact->set_name("duration_ns");
    exact->set_int64_val(node.duration.count());
  }
}

void append_record(std::string& file, const pb::Message& message) {
  const std::string body = message.SerializeAsString();
  pb::io::StringOutputStream stream(&file);
  pb::io::CodedOutputStream out(&stream);
  out.WriteVarint32(static_cast<std::uint32_t>(body.size()));
  out.WriteString(body);
}

std::vector<TraceNode> random_nodes(std::uint64_t seed, std::size_t count) {
  std::vector<TraceNode> nodes(count);
  RandomNodes random(seed);
  for (TraceNode& node : nodes) random.fill(node);
  return nodes;
}

constexpr std::size_t kNodes = 5000;

TEST(ChakraOracle, LibprotobufReadsWhatWeWriteAndWouldWriteTheSame) {
  const std::vector<TraceNode> nodes = random_nodes(10, kNodes);
  GlobalMetadata metadata;
  metadata.version = "0.0.4";
  RandomNodes random(11);
  for (int i = 0; i < 50; ++i) random.add_attribute(metadata.attributes);
  std::string ours;
  ChakraWriter writer([&](std::string_view part) { ours += part; }, metadata);
  for (const TraceNode& node : nodes) writer.write(node);
  writer.finish();

  ChakraProtoMsg::GlobalMetadata expected_metadata;
  expected_metadata.set_version(metadata.version);
  for (const TraceAttribute& attribute : metadata.attributes) fill(*expected_metadata.add_attr(), attribute);
  std::string theirs;
  append_record(theirs, expected_metadata);

  pb::io::ArrayInputStream stream(ours.data(), static_cast<int>(ours.size()));
  pb::io::CodedInputStream in(&stream);
  const auto next = [&](pb::Message& message) {
    std::uint32_t length = 0;
    std::string body;
    return in.ReadVarint32(&length) && in.ReadString(&body, static_cast<int>(length)) &&
           message.ParseFromString(body);
  };
  ChakraProtoMsg::GlobalMetadata parsed_metadata;
  ASSERT_TRUE(next(parsed_metadata));
  EXPECT_EQ(parsed_metadata.SerializeAsString(), expected_metadata.SerializeAsString());
  WholeMicroseconds whole;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ChakraProtoMsg::Node expected;
    fill(expected, nodes[i], whole);
    append_record(theirs, expected);
    ChakraProtoMsg::Node parsed;
    ASSERT_TRUE(next(parsed)) << "node " << i;
    ASSERT_EQ(parsed.GetReflection()->GetUnknownFields(parsed).field_count(), 0);
    ASSERT_EQ(parsed.SerializeAsString(), expected.SerializeAsString()) << "node " << i;
  }
  EXPECT_TRUE(ours == theirs);
}

TEST(ChakraOracle, WeReadWhatLibprotobufWrites) {
  const std::vector<TraceNode> nodes = random_nodes(12, kNodes);
  std::string theirs;
  append_record(theirs, ChakraProtoMsg::GlobalMetadata{});
  WholeMicroseconds whole;
  for (const TraceNode& node : nodes) {
    ChakraProtoMsg::Node message;
    fill(message, node, whole);
    append_record(theirs, message);
  }
  ChakraReader reader(std::as_bytes(std::span(theirs)), "t.et");
  TraceNode node;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_TRUE(reader.next(node));
    ASSERT_TRUE(node == nodes[i]) << "node " << i;
  }
  EXPECT_FALSE(reader.next(node));
  EXPECT_EQ(reader.stats().unknown_fields.count, 0u);
}

TEST(ChakraOracle, WeReadUnpackedListsAndPassOverUnknownFields) {
  const std::vector<TraceNode> nodes = random_nodes(13, kNodes);
  RandomNodes random(14);
  std::uint64_t unknown = 1;
  ChakraOddMsg::GlobalMetadata metadata;
  metadata.set_unknown_varint(300);
  std::string theirs;
  append_record(theirs, metadata);
  WholeMicroseconds whole;
  for (const TraceNode& node : nodes) {
    ChakraOddMsg::Node message;
    fill(message, node, whole);
    if (random.below(2) == 0) {
      message.set_unknown_fixed64(random.below(1000) + 1);
      ++unknown;
    }
    if (random.below(2) == 0) {
      for (int i = 0; i < 5; ++i) message.add_unknown_packed(random.below(1 << 20));
      ++unknown;
    }
    if (message.has_inputs()) {
      message.mutable_inputs()->set_unknown_text("?");
      ++unknown;
    }
    for (auto& attribute : *message.mutable_attr()) {
      attribute.set_unknown_fixed32(1);
      ++unknown;
    }
    append_record(theirs, message);
  }
  ChakraReader reader(std::as_bytes(std::span(theirs)), "t.et");
  TraceNode node;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_TRUE(reader.next(node));
    ASSERT_TRUE(node == nodes[i]) << "node " << i;
  }
  EXPECT_FALSE(reader.next(node));
  EXPECT_EQ(reader.stats().unknown_fields.count, unknown);
  EXPECT_EQ(reader.stats().unknown_fields.first_field, 40u);
}

}  // namespace
}  // namespace nadi::inline traces

#else

TEST(ChakraOracle, NeedsProtobuf) {
  GTEST_SKIP() << "protobuf was not found when the tests were configured";
}

#endif
