#include "nadi/trace/chakra_writer.h"

#include <string_view>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/trace/chakra_schema.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi {

namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 20;

// Guesses of how many bytes a length takes: nodes are mostly between 128 and 16383 bytes long, attributes
// and lists of dependencies below 128.
constexpr std::size_t kNodeLengthBytes = 2;
constexpr std::size_t kSmallLengthBytes = 1;

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;

void put_number(WireWriter& out, chakra::Encoding encoding, std::uint64_t bits) {
  switch (encoding) {
    case chakra::Encoding::kVarint:
      out.varint(bits);
      return;
    case chakra::Encoding::kZigzag:
      out.varint(zigzag(static_cast<std::int64_t>(bits)));
      return;
    case chakra::Encoding::kFixed32:
      out.fixed32(static_cast<std::uint32_t>(bits));
      return;
    case chakra::Encoding::kFixed64:
      out.fixed64(bits);
      return;
    case chakra::Encoding::kBytes:
      break;
  }
  unreachable();
}

void put_list(WireWriter& out, const TraceAttribute& attribute) {
  const TraceAttributeKind element = element_kind(attribute.kind);
  if (is_text(element)) {
    for (std::string_view text : attribute.texts) out.bytes_field(chakra::attribute::kListValues, text);
  } else if (!attribute.numbers.empty()) {
    const auto packed = out.begin_message(chakra::attribute::kListValues, kSmallLengthBytes);
    for (std::uint64_t bits : attribute.numbers) put_number(out, chakra::encoding_of(element), bits);
    out.end_message(packed);
  }
}

}  // namespace

ChakraWriter::ChakraWriter(ByteSink sink) : ChakraWriter(std::move(sink), GlobalMetadata{}) {}

ChakraWriter::ChakraWriter(ByteSink sink, const GlobalMetadata& metadata) : sink_(std::move(sink)) {
  const auto record = out_.begin_record(kSmallLengthBytes);
  if (!metadata.version.empty()) out_.bytes_field(chakra::global_metadata::kVersion, metadata.version);
  for (const TraceAttribute& attribute : metadata.attributes)
    write_attribute(chakra::global_metadata::kAttributes, attribute);
  out_.end_message(record);
}

void ChakraWriter::write(const TraceNode& node) {
  check(!finished_, "a node is written after the end of the trace");
  check(node.start.count() >= 0 && node.duration.count() >= 0, "a node is written with a negative time");
  const auto record = out_.begin_record(kNodeLengthBytes);
  if (to_number(node.id) != 0) out_.varint_field(chakra::node::kId, to_number(node.id));
  if (!node.name.empty()) out_.bytes_field(chakra::node::kName, node.name);
  if (node.type != NodeType::kInvalid)
    out_.varint_field(chakra::node::kType, static_cast<std::uint64_t>(node.type));
  write_dependencies(chakra::node::kCtrlDeps, node.ctrl_deps);
  write_dependencies(chakra::node::kDataDeps, node.data_deps);
  const auto start_micros = static_cast<std::uint64_t>(node.start.count() / kNanosecondsPerMicrosecond);
  if (start_micros != 0) out_.varint_field(chakra::node::kStartMicros, start_micros);
  const auto duration_micros = static_cast<std::uint64_t>(node.duration.count() / kNanosecondsPerMicrosecond);
  if (duration_micros != 0) out_.varint_field(chakra::node::kDurationMicros, duration_micros);
  write_io(chakra::node::kInputs, node.inputs);
  write_io(chakra::node::kOutputs, node.outputs);
  for (const TraceAttribute& attribute : node.attributes) {
    const bool is_time =
        attribute.name == attribute_name::kStartNs || attribute.name == attribute_name::kDurationNs;
    check(!is_time || !attribute.integer(), "a node's exact time is given as an attribute, not as its time");
    write_attribute(chakra::node::kAttributes, attribute);
  }
  write_exact_time(attribute_name::kStartNs, node.start);
  write_exact_time(attribute_name::kDurationNs, node.duration);
  out_.end_message(record);
  ++nodes_;
  if (out_.size() >= kFlushAt) flush();
}

void ChakraWriter::write_dependencies(std::uint32_t field, const std::vector<TraceNodeId>& ids) {
  if (ids.empty()) return;
  const auto packed = out_.begin_message(field, kSmallLengthBytes);
  for (TraceNodeId id : ids) out_.varint(to_number(id));
  out_.end_message(packed);
}

void ChakraWriter::write_io(std::uint32_t field, const IoInfo& io) {
  if (io.empty()) return;
  const auto message = out_.begin_message(field, kSmallLengthBytes);
  if (!io.values.empty()) out_.bytes_field(chakra::io_info::kValues, io.values);
  if (!io.shapes.empty()) out_.bytes_field(chakra::io_info::kShapes, io.shapes);
  if (!io.types.empty()) out_.bytes_field(chakra::io_info::kTypes, io.types);
  out_.end_message(message);
}

void ChakraWriter::write_attribute(std::uint32_t field, const TraceAttribute& attribute) {
  const auto message = out_.begin_message(field, kSmallLengthBytes);
  if (!attribute.name.empty()) out_.bytes_field(chakra::attribute::kName, attribute.name);
  if (!attribute.doc.empty()) out_.bytes_field(chakra::attribute::kDocString, attribute.doc);
  const auto value_field = static_cast<std::uint32_t>(attribute.kind);
  if (attribute.kind == TraceAttributeKind::kNone) {
    // A name and nothing else: the schema allows it, files hold it.
  } else if (is_list(attribute.kind)) {
    const auto list = out_.begin_message(value_field, kSmallLengthBytes);
    put_list(out_, attribute);
    out_.end_message(list);
  } else if (is_text(attribute.kind)) {
    out_.bytes_field(value_field, attribute.text);
  } else {
    const chakra::Encoding encoding = chakra::encoding_of(attribute.kind);
    out_.tag(value_field, chakra::wire_type_of(encoding));
    put_number(out_, encoding, attribute.bits);
  }
  out_.end_message(message);
}

void ChakraWriter::write_exact_time(std::string_view name, Nanoseconds time) {
  if (time.count() % kNanosecondsPerMicrosecond == 0) return;
  TraceAttribute attribute;
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kInt64;
  attribute.bits = number_bits(time.count());
  write_attribute(chakra::node::kAttributes, attribute);
}

void ChakraWriter::finish() {
  check(!finished_, "a trace is finished twice");
  finished_ = true;
  flush();
}

void ChakraWriter::flush() {
  sink_(out_.bytes());
  flushed_ += out_.size();
  out_.clear();
}

void write_chakra(const Trace& trace, const ByteSink& sink) {
  ChakraWriter writer(sink, trace.metadata);
  TraceNode node;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    trace.get(row, node);
    writer.write(node);
  }
  writer.finish();
}

}  // namespace nadi
