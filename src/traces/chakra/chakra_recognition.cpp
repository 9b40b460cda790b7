// Evidence is collected record by record. A node is of an old schema if it has an attribute in field 11 that
// starts as old attributes do (a name, then a type as varint); it is of the current one if a field holds what
// only that can hold there. Among the old schemas the wire type of a value decides: value fields start at 4
// in all of them, in the order of the types, so that each schema has its own row of wire types.
#include "nadi/chakra/chakra_recognition.h"

#include <array>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/chakra/chakra_schema.h"
#include "nadi/chakra/protobuf_wire.h"

namespace nadi::inline traces {
namespace {

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::string_view bytes;  // of a length-delimited field
};

// Walks over the fields of a message, and simply ends where it is damaged.
class FieldWalk {
 public:
  explicit FieldWalk(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<std::string_view> bytes() {
    const std::optional<std::uint64_t> length = varint();
    return length ? take(*length) : std::nullopt;
  }

  std::optional<Field> next() {
    const std::optional<std::uint64_t> tag = varint();
    if (!tag) return std::nullopt;
    Field field{.number = static_cast<std::uint32_t>(*tag >> 3),
                .type = static_cast<WireType>(*tag & 7),
                .bytes = {}};
    std::optional<std::string_view> content;
    switch (field.type) {
      case WireType::kVarint:
        if (!varint()) return std::nullopt;
        return field;
      case WireType::kFixed32:
        content = take(4);
        break;
      case WireType::kFixed64:
        content = take(8);
        break;
      case WireType::kBytes:
        content = bytes();
        break;
    }
    if (!content) return std::nullopt;
    field.bytes = *content;
    return field;
  }

 private:
  std::optional<std::string_view> take(std::uint64_t count) {
    if (count > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

constexpr std::uint32_t kFirstOldValue = 4;
constexpr WireType kNumber = WireType::kVarint;
constexpr WireType kFloat = WireType::kFixed32;
constexpr WireType kText = WireType::kBytes;
constexpr std::array kJuneValues{kFloat, kNumber, kText, kFloat, kNumber, kText};
constexpr std::array kJulyValues{kNumber, kFloat, kNumber, kText, kNumber, kFloat, kNumber, kText};
constexpr std::array kAugustValues{kNumber, kFloat, kNumber, kNumber, kText,
                                   kNumber, kFloat, kNumber, kNumber, kText};

template <std::size_t kCount>
bool can_hold(const std::array<WireType, kCount>& values, const Field& field) {
  const std::uint32_t value = field.number - kFirstOldValue;
  return value < kCount && values[value] == field.type;
}

struct Evidence {
  bool current = false;
  bool old = false;
  // Schemas in which all old attributes seen so far could be.
  bool june = true;
  bool july = true;
  bool august = true;

  // Whether the message is an attribute of an old schema.
  bool take_old_attribute(std::string_view message) {
    FieldWalk walk(message);
    const std::optional<Field> name = walk.next();
    const std::optional<Field> type = walk.next();
    if (!name || name->number != 1 || name->type != WireType::kBytes) return false;
    if (!type || type->number != 2 || type->type != WireType::kVarint) return false;
    old = true;
    while (const std::optional<Field> field = walk.next()) {
      if (field->number < kFirstOldValue) continue;
      june = june && can_hold(kJuneValues, *field);
      july = july && can_hold(kJulyValues, *field);
      august = august && can_hold(kAugustValues, *field);
    }
    return true;
  }

  void take_node(std::string_view record) {
    FieldWalk walk(record);
    while (const std::optional<Field> field = walk.next()) {
      const bool is_message = field->type == WireType::kBytes && field->bytes.starts_with('\n');
      switch (field->number) {
        case chakra::node::kDataDeps:
        case chakra::node::kStartMicros:
        case chakra::node::kDurationMicros:
          current = current || field->type == WireType::kVarint;
          break;
        case chakra::node::kInputs:
        case chakra::node::kOutputs:
        case chakra::node::kAttributes:
          current = current || is_message;  // old schemas have texts there, "[...]"
          break;
        case chakra::node::kOldAttributes:
          if (is_message) take_old_attribute(field->bytes);
          break;
        default:
          break;
      }
    }
  }

  ChakraSchema old_schema() const {
    if (august) return ChakraSchema::kAugust2023;
    if (july) return ChakraSchema::kJuly2023;
    return june ? ChakraSchema::kJune2023 : ChakraSchema::kAugust2023;
  }
};

bool is_node(std::string_view record) {
  FieldWalk walk(record);
  while (const std::optional<Field> field = walk.next())
    if (field->type == WireType::kVarint &&
        (field->number == chakra::node::kId || field->number == chakra::node::kType))
      return true;
  return false;
}

}  // namespace

std::string_view to_string(ChakraSchema schema) {
  switch (schema) {
    case ChakraSchema::kJune2023:
      return "0.0.2";
    case ChakraSchema::kJuly2023:
    case ChakraSchema::kAugust2023:
      return "0.0.3";
    case ChakraSchema::kCurrent:
      return "0.0.4";
  }
  unreachable();
}

ChakraFormat recognise_chakra(std::string_view start_of_file) {
  FieldWalk file(start_of_file);
  const std::optional<std::string_view> first = file.bytes();
  if (!first) return {};
  Evidence evidence;
  ChakraFormat format{.schema = ChakraSchema::kCurrent, .has_metadata = !is_node(*first)};
  bool old_metadata = false;
  if (!format.has_metadata) {
    evidence.take_node(*first);
  } else {
    FieldWalk metadata(*first);
    while (const std::optional<Field> field = metadata.next())
      if (field->number == chakra::global_metadata::kVersion && field->type == WireType::kBytes)
        old_metadata = old_metadata || field->bytes == "0.0.2" || field->bytes == "0.0.3" ||
                       evidence.take_old_attribute(field->bytes);
  }
  while (const std::optional<std::string_view> record = file.bytes()) evidence.take_node(*record);
  const bool no_sign_of_current = !evidence.current && (old_metadata || !format.has_metadata);
  if (evidence.old || no_sign_of_current) format.schema = evidence.old_schema();
  if (evidence.old && evidence.current) format.schema = ChakraSchema::kCurrent;
  return format;
}

}  // namespace nadi::inline traces
