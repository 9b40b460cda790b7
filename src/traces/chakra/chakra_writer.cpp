#include "nadi/chakra/chakra_writer.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/chakra/chakra_schema.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/exact_time.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 20;

// Guesses of how many bytes a length takes: nodes are mostly between 128 and 16383 bytes long, attributes
// and lists of dependencies below 128.
constexpr std::size_t kNodeLengthBytes = 2;
constexpr std::size_t kSmallLengthBytes = 1;

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

// Attributes are most of what is written, and nearly all of them are like this: a scalar with a short name,
// whose lengths are known beforehand and take a byte each. False for any other, with nothing written.
bool put_short_attribute(WireWriter& out, std::uint32_t field, const TraceAttribute& attribute) {
  constexpr std::size_t kLongest = 127;                    // a length of one byte
  constexpr std::size_t kAround = 4 + 3 + kLongestVarint;  // tags and lengths, and a number
  if (attribute.name.empty() || !attribute.doc.empty() || attribute.kind == TraceAttributeKind::kNone ||
      is_list(attribute.kind) || attribute.name.size() + attribute.text.size() + kAround > kLongest)
    return false;
  char* const begin = out.room(kLongest + kAround);
  char* to = begin;
  const auto put_tag = [&](std::uint32_t number, WireType type) {
    to = write_varint(to, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
  };
  const auto put_bytes = [&](std::string_view bytes) {
    *to++ = static_cast<char>(bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  };
  put_tag(field, WireType::kBytes);
  char* const length = to++;
  put_tag(chakra::attribute::kName, WireType::kBytes);
  put_bytes(attribute.name);
  const chakra::Encoding encoding = chakra::encoding_of(attribute.kind);
  put_tag(static_cast<std::uint32_t>(attribute.kind), chakra::wire_type_of(encoding));
  const auto put_fixed = [&](std::size_t size) {
    static_assert(std::endian::native == std::endian::little, "fixed-width fields are little-endian");
    std::memcpy(to, &attribute.bits, size);
    to += size;
  };
  switch (encoding) {
    case chakra::Encoding::kVarint:
      to = write_varint(to, attribute.bits);
      break;
    case chakra::Encoding::kZigzag:
      to = write_varint(to, zigzag(static_cast<std::int64_t>(attribute.bits)));
      break;
    case chakra::Encoding::kFixed32:
      put_fixed(4);
      break;
    case chakra::Encoding::kFixed64:
      put_fixed(8);
      break;
    case chakra::Encoding::kBytes:
      put_bytes(attribute.text);
      break;
  }
  *length = static_cast<char>(to - length - 1);
  out.took(static_cast<std::size_t>(to - begin));
  return true;
}

void put_attribute(WireWriter& out, std::uint32_t field, const TraceAttribute& attribute) {
  if (put_short_attribute(out, field, attribute)) return;
  const auto message = out.begin_message(field, kSmallLengthBytes);
  if (!attribute.name.empty()) out.bytes_field(chakra::attribute::kName, attribute.name);
  if (!attribute.doc.empty()) out.bytes_field(chakra::attribute::kDocString, attribute.doc);
  const auto value_field = static_cast<std::uint32_t>(attribute.kind);
  if (attribute.kind == TraceAttributeKind::kNone) {
    // A name and nothing else: the schema allows it, files hold it.
  } else if (is_list(attribute.kind)) {
    const auto list = out.begin_message(value_field, kSmallLengthBytes);
    put_list(out, attribute);
    out.end_message(list);
  } else if (is_text(attribute.kind)) {
    out.bytes_field(value_field, attribute.text);
  } else {
    const chakra::Encoding encoding = chakra::encoding_of(attribute.kind);
    out.tag(value_field, chakra::wire_type_of(encoding));
    put_number(out, encoding, attribute.bits);
  }
  out.end_message(message);
}

void put_exact_time(WireWriter& out, std::string_view name, Nanoseconds time) {
  if (time.count() % kNanosecondsPerMicrosecond == 0) return;
  TraceAttribute attribute;
  attribute.name = name;
  attribute.kind = TraceAttributeKind::kInt64;
  attribute.bits = number_bits(time.count());
  put_attribute(out, chakra::node::kAttributes, attribute);
}

void put_dependencies(WireWriter& out, std::uint32_t field, const std::vector<TraceNodeId>& ids) {
  if (ids.empty()) return;
  const auto packed = out.begin_message(field, kSmallLengthBytes);
  for (TraceNodeId id : ids) out.varint(to_number(id));
  out.end_message(packed);
}

void put_io(WireWriter& out, std::uint32_t field, const IoInfo& io) {
  if (io.empty()) return;
  const auto message = out.begin_message(field, kSmallLengthBytes);
  if (!io.values.empty()) out.bytes_field(chakra::io_info::kValues, io.values);
  if (!io.shapes.empty()) out.bytes_field(chakra::io_info::kShapes, io.shapes);
  if (!io.types.empty()) out.bytes_field(chakra::io_info::kTypes, io.types);
  out.end_message(message);
}

}  // namespace

void encode_attributes(WireWriter& out, const TraceNode& node) {
  for (const TraceAttribute& attribute : node.attributes) {
    const bool is_time =
        attribute.name == attribute_name::kStartNs || attribute.name == attribute_name::kDurationNs;
    check(!is_time || !attribute.integer(), "a node's exact time is given as an attribute, not as its time");
    put_attribute(out, chakra::node::kAttributes, attribute);
  }
}

void encode_node(WireWriter& out, const TraceNode& node, WholeMicroseconds& whole) {
  check(node.start.count() >= 0 && node.duration.count() >= 0, "a node is written with a negative time");
  if (to_number(node.id) != 0) out.varint_field(chakra::node::kId, to_number(node.id));
  if (!node.name.empty()) out.bytes_field(chakra::node::kName, node.name);
  if (node.type != NodeType::kInvalid)
    out.varint_field(chakra::node::kType, static_cast<std::uint64_t>(node.type));
  put_dependencies(out, chakra::node::kCtrlDeps, node.ctrl_deps);
  put_dependencies(out, chakra::node::kDataDeps, node.data_deps);
  const auto start_micros = static_cast<std::uint64_t>(node.start.count() / kNanosecondsPerMicrosecond);
  if (start_micros != 0) out.varint_field(chakra::node::kStartMicros, start_micros);
  const auto duration_micros = static_cast<std::uint64_t>(whole.of(node));
  if (duration_micros != 0) out.varint_field(chakra::node::kDurationMicros, duration_micros);
  put_io(out, chakra::node::kInputs, node.inputs);
  put_io(out, chakra::node::kOutputs, node.outputs);
  encode_attributes(out, node);
  put_exact_time(out, attribute_name::kStartNs, node.start);
  put_exact_time(out, attribute_name::kDurationNs, node.duration);
}

ChakraWriter::ChakraWriter(ByteSink sink) : ChakraWriter(std::move(sink), GlobalMetadata{}) {}

ChakraWriter::ChakraWriter(ByteSink sink, const GlobalMetadata& metadata) : sink_(std::move(sink)) {
  const auto record = out_.begin_record(kSmallLengthBytes);
  if (!metadata.version.empty()) out_.bytes_field(chakra::global_metadata::kVersion, metadata.version);
  for (const TraceAttribute& attribute : metadata.attributes)
    put_attribute(out_, chakra::global_metadata::kAttributes, attribute);
  out_.end_message(record);
}

void ChakraWriter::write(const TraceNode& node) {
  check(!finished_, "a node is written after the end of the trace");
  const auto record = out_.begin_record(kNodeLengthBytes);
  encode_node(out_, node, whole_);
  out_.end_message(record);
  ++nodes_;
  if (out_.size() >= kFlushAt) flush();
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

}  // namespace nadi::inline traces
