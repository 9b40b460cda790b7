#include "nadi/chakra/chakra_json_node.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/read_number.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/exact_time.h"

namespace nadi::inline traces {
namespace {

using Kind = TraceAttributeKind;
using JsonType = simdjson::ondemand::json_type;

std::string_view name_of(JsonType type) {
  switch (type) {
    case JsonType::array:
      return "an array";
    case JsonType::object:
      return "an object";
    case JsonType::number:
      return "a number";
    case JsonType::string:
      return "a text";
    case JsonType::boolean:
      return "a boolean";
    case JsonType::null:
      return "null";
  }
  unreachable();
}

// Whether `key` is `name` of the schema, as it is or in lowerCamelCase: "data_deps", "dataDeps".
bool is_name(std::string_view key, std::string_view name) {
  if (key == name) return true;
  std::size_t at = 0;
  bool capital = false;
  for (const char letter : name) {
    if (letter == '_') {
      capital = true;
      continue;
    }
    const char wanted = capital ? static_cast<char>(letter - 'a' + 'A') : letter;
    capital = false;
    if (at == key.size() || key[at++] != wanted) return false;
  }
  return at == key.size();
}

// The kind of the value that a key of an attribute holds: "int64Val", "int64_val", "int64List", "int64_list".
std::optional<Kind> kind_of_key(std::string_view key) {
  bool list = false;
  if (key.ends_with("List") || key.ends_with("list")) {
    list = true;
    key.remove_suffix(4);
  } else if (key.ends_with("Val") || key.ends_with("val")) {
    key.remove_suffix(3);
  } else {
    return std::nullopt;
  }
  if (key.ends_with('_')) key.remove_suffix(1);
  for (int number = static_cast<int>(Kind::kDouble); number <= static_cast<int>(Kind::kBytes); number += 2)
    if (to_string(static_cast<Kind>(number)) == key) return static_cast<Kind>(number + (list ? 1 : 0));
  return std::nullopt;
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  if (!read_number(text, value) || text.empty()) return std::nullopt;
  return value;
}

// A whole number that is written with a fraction or an exponent, as protobuf allows.
template <typename T>
std::optional<T> whole_number(double value) {
  constexpr double kLargest = 9007199254740992.0;  // 2^53: up to here every whole number is a double
  if (std::trunc(value) != value || std::abs(value) > kLargest) return std::nullopt;
  if (std::is_unsigned_v<T> && value < 0) return std::nullopt;
  return static_cast<T>(value);
}

bool is_null(simdjson::ondemand::value value) {
  return value.type() == JsonType::null && value.is_null();
}

// The value of a Base64 digit of either alphabet; -1 for other letters.
int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

void ChakraJsonDecoder::fail(std::string message, std::string hint) const {
  throw input_error({.file = file_, .byte = static_cast<std::int64_t>(byte_)}, std::move(message),
                    std::move(hint));
}

void ChakraJsonDecoder::pass_over(std::string_view name, std::uint64_t byte) {
  if (unknown_.count++ > 0) return;
  unknown_.first_name = std::string(name);
  unknown_.first_byte = byte;
}

std::uint64_t ChakraJsonDecoder::unsigned_number(Value value, std::string_view what) const {
  std::optional<std::uint64_t> result;
  const JsonType type = value.type();
  if (type == JsonType::string) {
    result = parse_number<std::uint64_t>(value.get_string().value());
  } else if (type == JsonType::number) {
    const simdjson::ondemand::number number = value.get_number();
    if (number.is_uint64()) result = number.get_uint64();
    if (number.is_int64() && number.get_int64() >= 0) result = static_cast<std::uint64_t>(number.get_int64());
    if (number.is_double()) result = whole_number<std::uint64_t>(number.get_double());
  } else {
    fail(format("{} is {}, expected a number", what, name_of(type)));
  }
  if (!result) fail(format("{} is no whole number of at least 0 in 64 bits", what));
  return *result;
}

std::int64_t ChakraJsonDecoder::signed_number(Value value, std::string_view what) const {
  std::optional<std::int64_t> result;
  const JsonType type = value.type();
  if (type == JsonType::string) {
    result = parse_number<std::int64_t>(value.get_string().value());
  } else if (type == JsonType::number) {
    const simdjson::ondemand::number number = value.get_number();
    if (number.is_int64()) result = number.get_int64();
    if (number.is_double()) result = whole_number<std::int64_t>(number.get_double());
  } else {
    fail(format("{} is {}, expected a number", what, name_of(type)));
  }
  if (!result) fail(format("{} is no whole number in 63 bits", what));
  return *result;
}

double ChakraJsonDecoder::real_number(Value value, std::string_view what) const {
  const JsonType type = value.type();
  if (type == JsonType::number) return value.get_double();
  if (type != JsonType::string) fail(format("{} is {}, expected a number", what, name_of(type)));
  const std::string_view text = value.get_string();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  const std::optional<double> result = parse_number<double>(text);
  if (!result) fail(format("{} of {} is no number", what, quote_for_message(text)));
  return *result;
}

bool ChakraJsonDecoder::boolean(Value value, std::string_view what) const {
  const JsonType type = value.type();
  if (type != JsonType::boolean) fail(format("{} is {}, expected true or false", what, name_of(type)));
  return value.get_bool();
}

std::string_view ChakraJsonDecoder::text(Value value, std::string_view what) const {
  const JsonType type = value.type();
  if (type != JsonType::string) fail(format("{} is {}, expected a text", what, name_of(type)));
  return value.get_string();
}

std::string_view ChakraJsonDecoder::base64(Value value, std::string_view what, Arena& arena) const {
  std::string_view digits = text(value, what);
  while (digits.ends_with('=')) digits.remove_suffix(1);
  const std::span<char> bytes = arena.array<char>(digits.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  std::size_t count = 0;
  for (const char c : digits) {
    const int digit = base64_digit(c);
    if (digit < 0) fail(format("{} is no Base64", what));
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[count++] = static_cast<char>(bits >> held & 0xff);
  }
  if (digits.size() % 4 == 1) fail(format("{} is no Base64", what));
  return {bytes.data(), count};
}

NodeType ChakraJsonDecoder::node_type(Value value) const {
  if (value.type() == JsonType::string) {
    const std::string_view name = value.get_string();
    for (std::uint64_t number = 0; const std::optional<NodeType> type = node_type_from_number(number);
         ++number)
      if (name.ends_with("_NODE") && name.substr(0, name.size() - 5) == to_string(*type)) return *type;
    fail(format("node type {} is not known", quote_for_message(name)),
         "known: INVALID_NODE to COMM_COLL_NODE");
  }
  const std::uint64_t number = unsigned_number(value, "type");
  const std::optional<NodeType> type = node_type_from_number(number);
  if (!type) fail(format("node type {} is not known", number), "known: 0 INVALID to 7 COMM_COLL");
  return *type;
}

std::int64_t ChakraJsonDecoder::micros(Value value, std::string_view what) const {
  const std::uint64_t number = unsigned_number(value, what);
  if (number > kLargestMicros)
    fail(format("{} of {} microseconds is more than {}, the longest time in 63 bits of nanoseconds", what,
                number, kLargestMicros));
  return static_cast<std::int64_t>(number);
}

void ChakraJsonDecoder::decode_ids(Value value, std::string_view what, std::vector<TraceNodeId>& ids) const {
  const JsonType type = value.type();
  if (type != JsonType::array) fail(format("{} is {}, expected an array", what, name_of(type)));
  for (Value id : value.get_array()) ids.push_back(TraceNodeId{unsigned_number(id, what)});
}

void ChakraJsonDecoder::decode_io(Value value, std::string_view what, IoInfo& io) {
  const JsonType type = value.type();
  if (type != JsonType::object) fail(format("{} is {}, expected an object", what, name_of(type)));
  for (auto field : value.get_object()) {
    const std::string_view key = field.unescaped_key();
    Value member = field.value();
    if (is_null(member)) continue;
    if (key == "values") {
      io.values = text(member, key);
    } else if (key == "shapes") {
      io.shapes = text(member, key);
    } else if (key == "types") {
      io.types = text(member, key);
    } else {
      pass_over(key, byte_);
    }
  }
}

std::uint64_t ChakraJsonDecoder::number(Value value, Kind kind, std::string_view what) const {
  const auto narrow = [&](auto wide, auto smallest) {
    using Narrow = decltype(smallest);
    if (wide < std::numeric_limits<Narrow>::min() || wide > std::numeric_limits<Narrow>::max())
      fail(format("{} of {} does not fit 32 bits", what, wide));
    return number_bits(static_cast<Narrow>(wide));
  };
  if (kind == Kind::kDouble) return number_bits(real_number(value, what));
  if (kind == Kind::kFloat) {
    const double real = real_number(value, what);
    if (std::isfinite(real) && std::abs(real) > double{std::numeric_limits<float>::max()})
      fail(format("{} of {} does not fit a float", what, real));
    return number_bits(static_cast<float>(real));
  }
  if (kind == Kind::kBool) return number_bits(boolean(value, what));
  if (kind == Kind::kUint64 || kind == Kind::kFixed64) return unsigned_number(value, what);
  if (kind == Kind::kUint32 || kind == Kind::kFixed32)
    return narrow(unsigned_number(value, what), std::uint32_t{});
  if (kind == Kind::kInt32 || kind == Kind::kSint32 || kind == Kind::kSfixed32)
    return narrow(signed_number(value, what), std::int32_t{});
  return number_bits(signed_number(value, what));
}

void ChakraJsonDecoder::decode_attributes(Value value, TraceAttributes& attributes) {
  const JsonType type = value.type();
  if (type != JsonType::array) fail(format("attr is {}, expected an array", name_of(type)));
  for (Value item : value.get_array()) {
    const JsonType item_type = item.type();
    if (item_type != JsonType::object)
      fail(format("an attribute is {}, expected an object", name_of(item_type)));
    TraceAttribute attribute;
    decode_attribute(item.get_object(), attribute, attributes.arena());
    attributes.add_borrowed(attribute);
  }
}

void ChakraJsonDecoder::decode_attribute(Object object, TraceAttribute& attribute, Arena& arena) {
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    Value value = field.value();
    if (is_null(value)) continue;
    if (key == "name") {
      attribute.name = text(value, key);
    } else if (is_name(key, "doc_string")) {
      attribute.doc = text(value, key);
    } else if (const std::optional<Kind> kind = kind_of_key(key)) {
      if (attribute.kind != Kind::kNone)
        fail(format("attribute {} has two values", quote_for_message(attribute.name)));
      attribute.kind = *kind;
      if (is_list(*kind)) {
        decode_list(value, attribute, arena);
      } else if (*kind == Kind::kString) {
        attribute.text = text(value, key);
      } else if (*kind == Kind::kBytes) {
        attribute.text = base64(value, key, arena);
      } else {
        attribute.bits = number(value, *kind, key);
      }
    } else {
      pass_over(key, byte_);
    }
  }
}

void ChakraJsonDecoder::decode_list(Value value, TraceAttribute& attribute, Arena& arena) {
  const Kind element = element_kind(attribute.kind);
  const std::string_view what = to_string(attribute.kind);
  numbers_.clear();
  texts_.clear();
  const JsonType type = value.type();
  if (type != JsonType::object) fail(format("a {} is {}, expected an object", what, name_of(type)));
  for (auto field : value.get_object()) {
    const std::string_view key = field.unescaped_key();
    Value values = field.value();
    if (is_null(values)) continue;
    if (key != "values") {
      pass_over(key, byte_);
      continue;
    }
    const JsonType values_type = values.type();
    if (values_type != JsonType::array)
      fail(format("values are {}, expected an array", name_of(values_type)));
    for (Value item : values.get_array()) {
      if (element == Kind::kString) {
        texts_.push_back(text(item, what));
      } else if (element == Kind::kBytes) {
        texts_.push_back(base64(item, what, arena));
      } else {
        numbers_.push_back(number(item, element, what));
      }
    }
  }
  attribute.numbers = arena.keep(std::span<const std::uint64_t>(numbers_));
  attribute.texts = arena.keep(std::span<const std::string_view>(texts_));
}

void ChakraJsonDecoder::settle_times(TraceNode& node, std::int64_t start_micros,
                                     std::int64_t duration_micros) {
  const auto fail_here = [this](std::string message, std::string hint) {
    fail(std::move(message), std::move(hint));
  };
  ExactTime start{.name = attribute_name::kStartNs};
  ExactTime duration{.name = attribute_name::kDurationNs, .may_be_rounded_up = true};
  for (const TraceAttribute& attribute : attributes_)
    if (!start.take(attribute, fail_here) && !duration.take(attribute, fail_here))
      node.attributes.add_borrowed(attribute);
  node.start = start.resolve(start_micros, fail_here);
  node.duration = duration.resolve(duration_micros, fail_here);
}

void ChakraJsonDecoder::decode_node(Object object, std::uint64_t byte, TraceNode& node) {
  GlobalMetadata metadata;
  if (!decode_node_or_metadata(object, byte, node, metadata)) settle_times(node, 0, 0);
}

bool ChakraJsonDecoder::decode_node_or_metadata(Object object, std::uint64_t byte, TraceNode& node,
                                                GlobalMetadata& metadata) {
  byte_ = byte;
  node.clear();
  attributes_.clear();
  std::int64_t start_micros = 0;
  std::int64_t duration_micros = 0;
  std::string version;
  bool is_node = false;
  bool is_of_chakra = false;
  bool is_strange = false;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    Value value = field.value();
    if (is_null(value)) continue;
    bool of_node = true;
    if (key == "id") {
      node.id = TraceNodeId{unsigned_number(value, key)};
    } else if (key == "name") {
      node.name = text(value, key);
    } else if (key == "type") {
      node.type = node_type(value);
    } else if (is_name(key, "ctrl_deps")) {
      decode_ids(value, key, node.ctrl_deps);
    } else if (is_name(key, "data_deps")) {
      decode_ids(value, key, node.data_deps);
    } else if (is_name(key, "start_time_micros")) {
      start_micros = micros(value, key);
    } else if (is_name(key, "duration_micros")) {
      duration_micros = micros(value, key);
    } else if (key == "inputs") {
      decode_io(value, key, node.inputs);
    } else if (key == "outputs") {
      decode_io(value, key, node.outputs);
    } else if (key == "attr") {
      decode_attributes(value, attributes_);
      of_node = false;
    } else if (key == "version") {
      version = std::string(text(value, key));
      of_node = false;
    } else {
      pass_over(key, byte_);
      is_strange = true;
      continue;
    }
    is_of_chakra = true;
    is_node = is_node || of_node;
  }
  is_foreign_ = is_strange && !is_of_chakra;
  if (is_node) {
    if (!version.empty()) pass_over("version", byte_);
    settle_times(node, start_micros, duration_micros);
    return true;
  }
  // What is handed out is of the current schema, and a file written from it must not say otherwise.
  if (version == "0.0.1" || version == "0.0.2" || version == "0.0.3" || version.starts_with('\n'))
    fail(format("unsupported schema {}", quote_for_message(version)), "supported in JSON: 0.0.4 and 1.0.0");
  metadata.version = std::move(version);
  metadata.attributes.clear();
  for (const TraceAttribute& attribute : attributes_) metadata.attributes.add_copy(attribute);
  return false;
}

void ChakraJsonDecoder::decode_feeder_node(Object object, std::uint64_t byte, TraceNode& node) {
  byte_ = byte;
  node.clear();
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    Value value = field.value();
    if (is_null(value)) continue;
    const auto whole = [&](std::int64_t least, std::int64_t most) {
      const std::int64_t result = signed_number(value, key);
      if (result < least || result > most)
        fail(format("{} of {} is not between {} and {}", key, result, least, most));
      return result;
    };
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();
    constexpr std::array<std::string_view, 4> kInt32s{attribute_name::kCommSrc, attribute_name::kCommDst,
                                                      attribute_name::kCommTag,
                                                      attribute_name::kCommPriority};
    constexpr std::array<std::string_view, 3> kInt64s{attribute_name::kNumOps, attribute_name::kCommType,
                                                      attribute_name::kCommSize};
    const auto named = [&](std::string_view name) { return name == key; };
    if (key == "Id") {
      node.id = TraceNodeId{unsigned_number(value, key)};
    } else if (key == "Name") {
      node.name = text(value, key);
    } else if (key == "NodeType") {
      node.type = node_type(value);
    } else if (is_name(key, "ctrl_deps")) {
      decode_ids(value, key, node.ctrl_deps);
    } else if (is_name(key, "data_deps")) {
      decode_ids(value, key, node.data_deps);
    } else if (key == "runtime") {
      node.duration = Nanoseconds{micros(value, key) * kNanosecondsPerMicrosecond};
    } else if (key == attribute_name::kIsCpuOp) {
      add_is_cpu_op(node, boolean(value, key));
    } else if (key == attribute_name::kTensorSize) {
      add_tensor_size(node, Bytes{whole(0, kMost)});
    } else if (const auto* int64 = std::ranges::find_if(kInt64s, named); int64 != kInt64s.end()) {
      node.attributes.add_int64(*int64, whole(0, kMost));
    } else if (const auto* int32 = std::ranges::find_if(kInt32s, named); int32 != kInt32s.end()) {
      node.attributes.add_int32(*int32, static_cast<std::int32_t>(whole(0, kMostInt32)));
    } else if (key == attribute_name::kProcessGroup) {
      node.attributes.add_text(attribute_name::kProcessGroup, text(value, key));
    } else {
      pass_over(key, byte_);
    }
  }
}

}  // namespace nadi::inline traces
