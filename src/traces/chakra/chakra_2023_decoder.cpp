// An attribute of these schemas has a type (field 2) and its value in field 4 + type. What the types are is a
// row of kinds for each schema. Lists are repeated fields of the attribute itself, packed or not.
#include "nadi/chakra/chakra_2023_decoder.h"

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/chakra/chakra_schema.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/exact_time.h"

namespace nadi::inline traces {
namespace {

using Kind = TraceAttributeKind;

namespace node_field {
constexpr std::uint32_t kId = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kType = 3;
constexpr std::uint32_t kParent = 4;
constexpr std::uint32_t kInputs = 5;  // values, shapes and types
constexpr std::uint32_t kOutputs = 8;
constexpr std::uint32_t kLastText = 10;
constexpr std::uint32_t kAttributes = 11;
}  // namespace node_field

namespace attribute_field {
constexpr std::uint32_t kName = 1;
constexpr std::uint32_t kType = 2;
constexpr std::uint32_t kDocString = 3;
constexpr std::uint32_t kFirstValue = 4;
}  // namespace attribute_field

constexpr std::uint32_t kMetadataAttributes = 1;

// By type, from 0.
constexpr std::array kJuneKinds{Kind::kFloat,     Kind::kInt64,     Kind::kString,
                                Kind::kFloatList, Kind::kInt64List, Kind::kStringList};
constexpr std::array kJulyKinds{Kind::kBool,     Kind::kFloat,     Kind::kInt64,     Kind::kString,
                                Kind::kBoolList, Kind::kFloatList, Kind::kInt64List, Kind::kStringList};
constexpr std::array kAugustKinds{Kind::kBool,      Kind::kFloat,     Kind::kUint64,    Kind::kInt64,
                                  Kind::kString,    Kind::kBoolList,  Kind::kFloatList, Kind::kUint64List,
                                  Kind::kInt64List, Kind::kStringList};

std::span<const Kind> kinds_of(ChakraSchema schema) {
  switch (schema) {
    case ChakraSchema::kJune2023:
      return kJuneKinds;
    case ChakraSchema::kJuly2023:
      return kJulyKinds;
    case ChakraSchema::kAugust2023:
    case ChakraSchema::kCurrent:
      return kAugustKinds;
  }
  unreachable();
}

// By the number of 2023.
constexpr std::array kCollectivesOf2023{CollectiveType::kAllReduce, CollectiveType::kAllToAll,
                                        CollectiveType::kAllGather, CollectiveType::kReduceScatter,
                                        CollectiveType::kBroadcast};

constexpr std::string_view kRuntime = "runtime";  // microseconds

struct WantedKind {
  std::string_view name;
  Kind kind;
};
constexpr std::array kWantedKinds{
    WantedKind{attribute_name::kIsCpuOp, Kind::kBool},
    WantedKind{attribute_name::kNumOps, Kind::kInt64},
    WantedKind{attribute_name::kTensorSize, Kind::kUint64},
    WantedKind{attribute_name::kCommType, Kind::kInt64},
    WantedKind{attribute_name::kCommSize, Kind::kInt64},
    WantedKind{attribute_name::kCommSrc, Kind::kInt32},
    WantedKind{attribute_name::kCommDst, Kind::kInt32},
    WantedKind{attribute_name::kCommTag, Kind::kInt32},
    WantedKind{attribute_name::kCommPriority, Kind::kInt32},
};

void expect(const WireReader& reader, WireTag tag, WireType wanted, std::string_view name) {
  if (tag.type != wanted)
    reader.fail(tag.byte, format("field {} ({}) of schema 0.0.3 is {}, expected {}", tag.field, name,
                                 to_string(tag.type), to_string(wanted)));
}

bool fits(Kind kind, std::int64_t value) {
  if (kind == Kind::kInt32)
    return value >= std::numeric_limits<std::int32_t>::min() &&
           value <= std::numeric_limits<std::int32_t>::max();
  if (kind == Kind::kUint64) return value >= 0;
  if (kind == Kind::kBool) return value == 0 || value == 1;
  return true;
}

// Gives an attribute that simulators read the kind they ask for.
void take_wanted_kind(const WireReader& record, std::uint64_t at, TraceAttribute& attribute) {
  if (attribute.name == attribute_name::kInvolvedDimensions && attribute.kind == Kind::kInt64List) {
    for (const std::uint64_t bits : attribute.numbers)
      if (bits > 1) record.fail(at, format("{} of {} is neither 0 nor 1", attribute.name, bits));
    attribute.kind = Kind::kBoolList;
    return;
  }
  for (const WantedKind& wanted : kWantedKinds) {
    if (attribute.name != wanted.name || attribute.kind == Kind::kNone || attribute.kind == wanted.kind)
      continue;
    const std::optional<std::int64_t> value = attribute.integer();
    if (!value || !fits(wanted.kind, *value))
      record.fail(at, format("attribute {} of kind {} cannot be made one of kind {}", attribute.name,
                             to_string(attribute.kind), to_string(wanted.kind)));
    attribute.kind = wanted.kind;
    attribute.bits = number_bits(*value);
  }
}

void translate_collective(const WireReader& record, std::uint64_t at, TraceAttribute& attribute) {
  if (attribute.name != attribute_name::kCommType || attribute.kind == Kind::kNone) return;
  if (attribute.bits >= kCollectivesOf2023.size())
    record.fail(
        at, format("collective {} is not known", static_cast<std::int64_t>(attribute.bits)),
        "schema 0.0.3 has 0 all-reduce, 1 all-to-all, 2 all-gather, 3 reduce-scatter and 4 broadcast");
  attribute.bits = number_bits(static_cast<std::int64_t>(kCollectivesOf2023[attribute.bits]));
}

// Nothing unless the attribute is the duration.
std::optional<Nanoseconds> runtime_of(const WireReader& record, std::uint64_t at,
                                      const TraceAttribute& attribute) {
  if (attribute.name != kRuntime || attribute.real() || is_list(attribute.kind) || is_text(attribute.kind) ||
      attribute.kind == Kind::kNone)
    return std::nullopt;
  const std::optional<std::int64_t> micros = attribute.integer();
  if (!micros || *micros < 0 || static_cast<std::uint64_t>(*micros) > kLargestMicros)
    record.fail(at, format("a runtime of {} microseconds is not between 0 and {}",
                           static_cast<std::int64_t>(attribute.bits), kLargestMicros));
  return Nanoseconds{*micros * kNanosecondsPerMicrosecond};
}

// The text of the inputs or outputs that a field of a node is.
std::string_view& text_field(TraceNode& node, std::uint32_t field) {
  IoInfo& io = field < node_field::kOutputs ? node.inputs : node.outputs;
  switch ((field - node_field::kInputs) % 3) {
    case 0:
      return io.values;
    case 1:
      return io.shapes;
    default:
      return io.types;
  }
}

}  // namespace

Chakra2023Decoder::Chakra2023Decoder(ChakraSchema schema) : schema_(schema) {
  check(schema != ChakraSchema::kCurrent, "an old schema is decoded");
}

void Chakra2023Decoder::skip(WireReader& reader, WireTag tag) {
  if (unknown_.count++ == 0) {
    unknown_.first_field = tag.field;
    unknown_.first_byte = tag.byte;
  }
  reader.skip(tag);
}

void Chakra2023Decoder::decode_metadata(WireReader record, GlobalMetadata& metadata) {
  metadata.version = GlobalMetadata{}.version;
  metadata.attributes.clear();
  while (!record.at_end()) {
    const WireTag tag = record.tag();
    if (tag.field != kMetadataAttributes) {
      skip(record, tag);
      continue;
    }
    expect(record, tag, WireType::kBytes, "attribute");
    WireReader message = record.message();
    WireReader peek = message;
    if (peek.at_end() || peek.tag().field != attribute_field::kName) continue;  // a version as text
    TraceAttribute attribute;
    Arena scratch;
    decode_attribute(message, attribute, scratch);
    metadata.attributes.add_copy(attribute);
  }
}

void Chakra2023Decoder::decode_node(WireReader record, TraceNode& node) {
  node.clear();
  while (!record.at_end()) {
    const WireTag tag = record.tag();
    if (tag.field >= node_field::kInputs && tag.field <= node_field::kLastText) {
      expect(record, tag, WireType::kBytes, "inputs or outputs");
      text_field(node, tag.field) = record.bytes();
      continue;
    }
    switch (tag.field) {
      case node_field::kId:
        expect(record, tag, WireType::kVarint, "id");
        node.id = TraceNodeId{record.varint()};
        break;
      case node_field::kName:
        expect(record, tag, WireType::kBytes, "name");
        node.name = record.bytes();
        break;
      case node_field::kType: {
        expect(record, tag, WireType::kVarint, "type");
        const std::uint64_t number = record.varint();
        const bool moves_up = schema_ == ChakraSchema::kJune2023 && number != 0;
        const std::optional<NodeType> type =
            number > 7 ? std::nullopt : node_type_from_number(number + (moves_up ? 1 : 0));
        if (!type)
          record.fail(tag.byte, format("node type {} is not known in schema {}", number, to_string(schema_)));
        node.type = *type;
        break;
      }
      case node_field::kParent:
        if (tag.type == WireType::kVarint) {
          node.data_deps.push_back(TraceNodeId{record.varint()});
        } else {
          expect(record, tag, WireType::kBytes, "parent");
          for (WireReader packed = record.message(); !packed.at_end();)
            node.data_deps.push_back(TraceNodeId{packed.varint()});
        }
        break;
      case node_field::kAttributes: {
        expect(record, tag, WireType::kBytes, "attribute");
        TraceAttribute attribute;
        decode_attribute(record.message(), attribute, node.attributes.arena());
        if (const std::optional<Nanoseconds> runtime = runtime_of(record, tag.byte, attribute)) {
          node.duration = *runtime;
          break;
        }
        const bool is_time =
            attribute.name == attribute_name::kStartNs || attribute.name == attribute_name::kDurationNs;
        if (is_time && attribute.integer())
          record.fail(tag.byte, format("schema 0.0.3 has no attribute {}", attribute.name));
        take_wanted_kind(record, tag.byte, attribute);
        translate_collective(record, tag.byte, attribute);
        node.attributes.add_borrowed(attribute);
        break;
      }
      default:
        skip(record, tag);
    }
  }
}

void Chakra2023Decoder::decode_attribute(WireReader message, TraceAttribute& attribute, Arena& arena) {
  const std::span<const Kind> kinds = kinds_of(schema_);
  const std::uint64_t start = message.byte();
  std::optional<std::uint64_t> type;
  numbers_.clear();
  texts_.clear();
  while (!message.at_end()) {
    const WireTag tag = message.tag();
    const std::uint32_t value = tag.field - attribute_field::kFirstValue;
    if (tag.field == attribute_field::kName) {
      expect(message, tag, WireType::kBytes, "name");
      attribute.name = message.bytes();
    } else if (tag.field == attribute_field::kType) {
      expect(message, tag, WireType::kVarint, "type");
      type = message.varint();
      if (*type >= kinds.size())
        message.fail(tag.byte,
                     format("attribute type {} is not known in schema {}", *type, to_string(schema_)));
    } else if (tag.field == attribute_field::kDocString) {
      expect(message, tag, WireType::kBytes, "doc_string");
      attribute.doc = message.bytes();
    } else if (tag.field >= attribute_field::kFirstValue && value < kinds.size()) {
      if (attribute.kind != Kind::kNone && attribute.kind != kinds[value])
        message.fail(tag.byte, format("attribute {} has two values", quote_for_message(attribute.name)));
      attribute.kind = kinds[value];
      decode_value(message, tag, attribute);
    } else {
      skip(message, tag);
    }
  }
  if (attribute.kind != Kind::kNone && type && kinds[*type] != attribute.kind)
    message.fail(start, format("attribute {} declares type {} but holds a value of kind {}",
                               quote_for_message(attribute.name), *type, to_string(attribute.kind)));
  if (!is_list(attribute.kind)) return;
  attribute.numbers = arena.keep(std::span<const std::uint64_t>(numbers_));
  attribute.texts = arena.keep(std::span<const std::string_view>(texts_));
}

void Chakra2023Decoder::decode_value(WireReader& message, WireTag tag, TraceAttribute& attribute) {
  const bool list = is_list(attribute.kind);
  const Kind element = list ? element_kind(attribute.kind) : attribute.kind;
  if (is_text(element)) {
    expect(message, tag, WireType::kBytes, "a text");
    (list ? texts_.emplace_back() : attribute.text) = message.bytes();
    return;
  }
  const auto read = [&](WireReader& from) -> std::uint64_t {
    if (element == Kind::kFloat) return from.fixed32();
    const std::uint64_t bits = from.varint();
    return element == Kind::kBool ? std::uint64_t{bits != 0} : bits;
  };
  if (list && tag.type == WireType::kBytes) {
    for (WireReader packed = message.message(); !packed.at_end();) numbers_.push_back(read(packed));
    return;
  }
  expect(message, tag, element == Kind::kFloat ? WireType::kFixed32 : WireType::kVarint, to_string(element));
  if (list) {
    numbers_.push_back(read(message));
  } else {
    attribute.bits = read(message);
  }
}

}  // namespace nadi::inline traces
