#include "nadi/chakra/chakra_decoder.h"

#include <optional>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/chakra/chakra_schema.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/exact_time.h"

namespace nadi::inline traces {

namespace {

const std::string kOtherSchemaHint =
    "schemas 0.0.2, 0.0.3, 0.0.4 and 1.0.0 can be read; is this a file of another one, or damaged?";

// Stops at a known field that holds something else than it should.
void expect(const WireReader& reader, WireTag tag, WireType wanted, const char* name) {
  if (tag.type == wanted) [[likely]]
    return;
  reader.fail(
      tag.byte,
      format("field {} ({}) is {}, expected {}", tag.field, name, to_string(tag.type), to_string(wanted)),
      kOtherSchemaHint);
}

// A number as protobuf keeps it: 32-bit kinds lose what is above 32 bits, a bool is 0 or 1, zigzag is undone.
std::uint64_t narrowed(TraceAttributeKind kind, std::uint64_t bits) {
  using Kind = TraceAttributeKind;
  if (kind == Kind::kBool) return bits != 0;
  if (kind == Kind::kUint32) return static_cast<std::uint32_t>(bits);
  if (kind == Kind::kInt32 || kind == Kind::kSfixed32) return number_bits(static_cast<std::int32_t>(bits));
  if (kind == Kind::kSint64) return number_bits(unzigzag(bits));
  if (kind == Kind::kSint32)
    return number_bits(static_cast<std::int32_t>(unzigzag(static_cast<std::uint32_t>(bits))));
  return bits;  // the other kinds are on the wire as they are kept
}

std::uint64_t read_bits(WireReader& reader, TraceAttributeKind kind) {
  switch (chakra::encoding_of(kind)) {
    case chakra::Encoding::kVarint:
    case chakra::Encoding::kZigzag:
      return narrowed(kind, reader.varint());
    case chakra::Encoding::kFixed32:
      return narrowed(kind, reader.fixed32());
    case chakra::Encoding::kFixed64:
      return reader.fixed64();
    case chakra::Encoding::kBytes:
      break;
  }
  unreachable();
}

std::int64_t read_micros(WireReader& record, WireTag tag, const char* name) {
  const std::uint64_t micros = record.varint();
  if (micros > kLargestMicros)
    record.fail(tag.byte,
                format("{} of {} microseconds is more than {}, the longest time in 63 bits of nanoseconds",
                       name, micros, kLargestMicros));
  return static_cast<std::int64_t>(micros);
}

}  // namespace

void ChakraDecoder::skip(WireReader& reader, WireTag tag) {
  if (unknown_.count++ == 0) {
    unknown_.first_field = tag.field;
    unknown_.first_byte = tag.byte;
  }
  reader.skip(tag);
}

void ChakraDecoder::decode_metadata(WireReader record, GlobalMetadata& metadata) {
  metadata.version.clear();
  metadata.attributes.clear();
  const std::uint64_t start = record.byte();
  for (WireReader scan = record; !scan.at_end();) {
    const WireTag tag = scan.tag();
    if (tag.type == WireType::kVarint && (tag.field == chakra::node::kId || tag.field == chakra::node::kType))
      record.fail(start, "the first record is a node; a GlobalMetadata was expected", kOtherSchemaHint);
    scan.skip(tag);
  }
  while (!record.at_end()) {
    const WireTag tag = record.tag();
    switch (tag.field) {
      case chakra::global_metadata::kVersion: {
        expect(record, tag, WireType::kBytes, "version");
        metadata.version = std::string(record.bytes());
        if (metadata.version.starts_with('\n'))
          record.fail(tag.byte, "the metadata has an attribute where the schema's version should be",
                      kOtherSchemaHint);
        if (metadata.version == "0.0.1") record.fail(tag.byte, "the file has schema 0.0.1", kOtherSchemaHint);
        break;
      }
      case chakra::global_metadata::kAttributes: {
        expect(record, tag, WireType::kBytes, "attr");
        TraceAttribute attribute;
        Arena scratch;
        decode_attribute(record.message(), attribute, scratch);
        metadata.attributes.add_copy(attribute);
        break;
      }
      default:
        skip(record, tag);
    }
  }
}

void ChakraDecoder::decode_node(WireReader record, TraceNode& node) {
  node.clear();
  std::int64_t start_micros = 0;
  std::int64_t duration_micros = 0;
  ExactTime exact_start{.name = attribute_name::kStartNs};
  ExactTime exact_duration{.name = attribute_name::kDurationNs, .may_be_rounded_up = true};
  std::uint64_t exact_start_byte = 0;
  std::uint64_t exact_duration_byte = 0;
  while (!record.at_end()) {
    const WireTag tag = record.tag();
    switch (tag.field) {
      case chakra::node::kId:
        expect(record, tag, WireType::kVarint, "id");
        node.id = TraceNodeId{record.varint()};
        break;
      case chakra::node::kName:
        expect(record, tag, WireType::kBytes, "name");
        node.name = record.bytes();
        break;
      case chakra::node::kType: {
        expect(record, tag, WireType::kVarint, "type");
        const std::uint64_t number = record.varint();
        const std::optional<NodeType> type = node_type_from_number(number);
        if (!type)
          record.fail(tag.byte, format("node type {} is not known", number),
                      "known: 0 INVALID to 7 COMM_COLL; 8 to 10 are storage operations of a newer schema");
        node.type = *type;
        break;
      }
      case chakra::node::kCtrlDeps:
        decode_dependencies(record, tag, node.ctrl_deps);
        break;
      case chakra::node::kDataDeps:
        decode_dependencies(record, tag, node.data_deps);
        break;
      case chakra::node::kStartMicros:
        expect(record, tag, WireType::kVarint, "start_time_micros");
        start_micros = read_micros(record, tag, "start_time_micros");
        break;
      case chakra::node::kDurationMicros:
        expect(record, tag, WireType::kVarint, "duration_micros");
        duration_micros = read_micros(record, tag, "duration_micros");
        break;
      case chakra::node::kInputs:
        expect(record, tag, WireType::kBytes, "inputs");
        decode_io(record.message(), node.inputs);
        break;
      case chakra::node::kOutputs:
        expect(record, tag, WireType::kBytes, "outputs");
        decode_io(record.message(), node.outputs);
        break;
      case chakra::node::kAttributes: {
        expect(record, tag, WireType::kBytes, "attr");
        TraceAttribute attribute;
        decode_attribute(record.message(), attribute, node.attributes.arena());
        const auto fail = [&](std::string message, std::string hint) {
          record.fail(tag.byte, std::move(message), std::move(hint));
        };
        if (exact_start.take(attribute, fail)) {
          exact_start_byte = tag.byte;
        } else if (exact_duration.take(attribute, fail)) {
          exact_duration_byte = tag.byte;
        } else {
          node.attributes.add_borrowed(attribute);
        }
        break;
      }
      default:
        skip(record, tag);
    }
  }
  const auto fail_at = [&](std::uint64_t byte) {
    return [&record, byte](std::string message, std::string hint) {
      record.fail(byte, std::move(message), std::move(hint));
    };
  };
  node.start = exact_start.resolve(start_micros, fail_at(exact_start_byte));
  node.duration = exact_duration.resolve(duration_micros, fail_at(exact_duration_byte));
}

void ChakraDecoder::decode_dependencies(WireReader& record, WireTag tag, std::vector<TraceNodeId>& ids) {
  if (tag.type == WireType::kVarint) {
    ids.push_back(TraceNodeId{record.varint()});
    return;
  }
  expect(record, tag, WireType::kBytes, tag.field == chakra::node::kCtrlDeps ? "ctrl_deps" : "data_deps");
  for (WireReader packed = record.message(); !packed.at_end();) ids.push_back(TraceNodeId{packed.varint()});
}

void ChakraDecoder::decode_io(WireReader message, IoInfo& io) {
  while (!message.at_end()) {
    const WireTag tag = message.tag();
    switch (tag.field) {
      case chakra::io_info::kValues:
        expect(message, tag, WireType::kBytes, "values");
        io.values = message.bytes();
        break;
      case chakra::io_info::kShapes:
        expect(message, tag, WireType::kBytes, "shapes");
        io.shapes = message.bytes();
        break;
      case chakra::io_info::kTypes:
        expect(message, tag, WireType::kBytes, "types");
        io.types = message.bytes();
        break;
      default:
        skip(message, tag);
    }
  }
}

void ChakraDecoder::decode_attribute(WireReader message, TraceAttribute& attribute, Arena& arena) {
  while (!message.at_end()) {
    const WireTag tag = message.tag();
    if (tag.field == chakra::attribute::kName) {
      expect(message, tag, WireType::kBytes, "name");
      attribute.name = message.bytes();
    } else if (tag.field == chakra::attribute::kDocString) {
      expect(message, tag, WireType::kBytes, "doc_string");
      attribute.doc = message.bytes();
    } else if (tag.field >= chakra::attribute::kFirstValue && tag.field <= chakra::attribute::kLastValue) {
      const auto kind = static_cast<TraceAttributeKind>(tag.field);
      // Another kind than before replaces the value; the same list again is appended to.
      if (attribute.kind != kind) {
        attribute = {.name = attribute.name,
                     .doc = attribute.doc,
                     .kind = kind,
                     .bits = 0,
                     .text = {},
                     .numbers = {},
                     .texts = {}};
      }
      if (is_list(kind)) {
        expect(message, tag, WireType::kBytes, "a list");
        decode_list(message.message(), attribute, arena);
      } else {
        const WireType wanted = chakra::wire_type_of(chakra::encoding_of(kind));
        if (tag.type != wanted)
          message.fail(tag.byte,
                       format("the {} value of attribute {} is {}, expected {}", to_string(kind),
                              quote_for_message(attribute.name), to_string(tag.type), to_string(wanted)),
                       kOtherSchemaHint);
        if (is_text(kind)) {
          attribute.text = message.bytes();
        } else {
          attribute.bits = read_bits(message, kind);
        }
      }
    } else {
      skip(message, tag);
    }
  }
}

void ChakraDecoder::decode_list(WireReader message, TraceAttribute& attribute, Arena& arena) {
  const TraceAttributeKind element = element_kind(attribute.kind);
  const WireType wanted = chakra::wire_type_of(chakra::encoding_of(element));
  numbers_.assign(attribute.numbers.begin(), attribute.numbers.end());
  texts_.assign(attribute.texts.begin(), attribute.texts.end());
  while (!message.at_end()) {
    const WireTag tag = message.tag();
    if (tag.field != chakra::attribute::kListValues) {
      skip(message, tag);
    } else if (is_text(element)) {
      expect(message, tag, WireType::kBytes, "values");
      texts_.push_back(message.bytes());
    } else if (tag.type == WireType::kBytes) {
      for (WireReader packed = message.message(); !packed.at_end();)
        numbers_.push_back(read_bits(packed, element));
    } else {
      expect(message, tag, wanted, "values");
      numbers_.push_back(read_bits(message, element));
    }
  }
  attribute.numbers = arena.keep(std::span<const std::uint64_t>(numbers_));
  attribute.texts = arena.keep(std::span<const std::string_view>(texts_));
}

}  // namespace nadi::inline traces
