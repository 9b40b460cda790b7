#include "nadi/pytorch/host_node.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/pytorch/json_number.h"

namespace nadi::inline traces {

namespace {

using Kind = TraceAttributeKind;

// What schema 1.0.1 has as fields and later ones as attributes with these types.
struct FlatField {
  std::string_view name;
  std::string_view type;
};
constexpr FlatField kFlatFields[] = {
    {"rf_id", "uint64"}, {"fw_parent", "uint64"}, {"seq_id", "int64"},     {"scope", "uint64"},
    {"tid", "uint64"},   {"fw_tid", "uint64"},    {"op_schema", "string"},
};

// Kept even where attributes are passed over.
constexpr std::string_view kOfCommunication[] = {
    "collective_name", "dtype",          "in_msg_nelems",     "out_msg_nelems",
    "in_split_size",   "out_split_size", "global_rank_start", "global_rank_stride",
    "pg_name",         "pg_desc",        "pg_size",
};

bool is_communication(std::string_view name) {
  constexpr std::string_view kStarts[] = {"record_param_comms", "c10d", "_c10d", "nccl", "gloo", "mpi",
                                          "## process_group"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

// The kind whose name the schema uses; lists are not used by any.
std::optional<Kind> kind_named(std::string_view type) {
  for (auto number = static_cast<int>(Kind::kDouble); number <= static_cast<int>(Kind::kBytes); number += 2)
    if (to_string(static_cast<Kind>(number)) == type) return static_cast<Kind>(number);
  return std::nullopt;
}

template <typename T>
std::optional<std::uint64_t> fitting(const JsonNumber& number) {
  if (number.kind == JsonNumber::kUint64)
    return number.bits <= std::uint64_t{std::numeric_limits<T>::max()} ? std::optional(number.bits)
                                                                       : std::nullopt;
  if (number.kind != JsonNumber::kInt64) return std::nullopt;
  const auto value = static_cast<std::int64_t>(number.bits);
  if (value < 0 && std::is_unsigned_v<T>) return std::nullopt;
  const auto narrow = static_cast<T>(value);
  if (static_cast<std::int64_t>(narrow) != value) return std::nullopt;
  return number_bits(narrow);
}

// The bits of a number of that kind; nothing where the text is none.
std::optional<std::uint64_t> number_of(Kind kind, std::string_view token) {
  const JsonNumber number = read_json_number(token);
  const auto real = [&]() -> std::optional<double> {
    if (number.kind == JsonNumber::kDouble) return number.real();
    if (number.kind == JsonNumber::kUint64) return static_cast<double>(number.bits);
    if (number.kind == JsonNumber::kInt64) return static_cast<double>(static_cast<std::int64_t>(number.bits));
    return std::nullopt;
  };
  switch (kind) {
    case Kind::kInt64:
    case Kind::kSint64:
    case Kind::kSfixed64:
      return fitting<std::int64_t>(number);
    case Kind::kUint64:
    case Kind::kFixed64:
      return fitting<std::uint64_t>(number);
    case Kind::kInt32:
    case Kind::kSint32:
    case Kind::kSfixed32:
      return fitting<std::int32_t>(number);
    case Kind::kUint32:
    case Kind::kFixed32:
      return fitting<std::uint32_t>(number);
    case Kind::kDouble:
      return real() ? std::optional(number_bits(*real())) : std::nullopt;
    case Kind::kFloat:
      return real() ? std::optional(number_bits(static_cast<float>(*real()))) : std::nullopt;
    case Kind::kBool:
      if (token.starts_with("true")) return 1;
      if (token.starts_with("false")) return 0;
      return std::nullopt;
    default:  // texts and lists are no numbers
      return std::nullopt;
  }
}

}  // namespace

HostNodeReader::HostNodeReader(Trace& trace, const RecordPlace& place, const HostNodeOptions& options)
    : trace_(&trace), place_(&place), options_(options), texts_(trace, place), attributes_(1) {}

void HostNodeReader::read(JsonTokens tokens, HostNode& node) {
  ++node_;
  node.id.reset();
  node.parent = 0;
  node.record_function = 0;
  node.thread = 0;
  node.name = {};
  node.attributes.clear();
  inputs_ = {};
  outputs_ = {};
  texts_.begin_record();
  for (bool more = tokens.enter('{'); more; more = tokens.next('}')) read_field(tokens, node);
  finish(node);
}

// Escapes can spell any name. A name of a few characters is looked through faster by a loop than by memchr().
std::string_view HostNodeReader::take_key(JsonTokens& tokens) {
  const std::string_view raw = tokens.key();
  for (const char c : raw)
    if (c == '\\') return texts_.unescaped(raw);
  return raw;
}

void HostNodeReader::read_field(JsonTokens& tokens, HostNode& node) {
  const std::string_view name = take_key(tokens);
  if (name == "id") {
    node.id = take_id(tokens);
  } else if (name == "name") {
    node.name = texts_.take_content(tokens);
  } else if (name == "ctrl_deps" || name == "parent") {
    node.parent = take_id(tokens);
  } else if (name == "inputs") {
    read_tensors(tokens, inputs_);
  } else if (name == "outputs") {
    read_tensors(tokens, outputs_);
  } else if (name == "attrs") {
    read_attributes(tokens, node);
  } else if (name == "input_shapes") {
    inputs_.shapes = texts_.take_text(tokens);
  } else if (name == "input_types") {
    inputs_.types = texts_.take_text(tokens);
  } else if (name == "output_shapes") {
    outputs_.shapes = texts_.take_text(tokens);
  } else if (name == "output_types") {
    outputs_.types = texts_.take_text(tokens);
  } else {
    const auto flat = std::ranges::find(kFlatFields, name, &FlatField::name);
    take(find(name, 0), flat == std::end(kFlatFields) ? "" : flat->type, take_value(tokens), node);
  }
}

// Later schemas have an object of lists, 1.0.1 the list of values alone.
void HostNodeReader::read_tensors(JsonTokens& tokens, Tensors& tensors) {
  if (tokens.front() != '{') {
    tensors.values = texts_.take_text(tokens);
    return;
  }
  for (bool more = tokens.enter('{'); more; more = tokens.next('}')) {
    const std::string_view name = take_key(tokens);
    const JsonTexts::Text text = texts_.take_text(tokens);
    if (name == "values") tensors.values = text;
    if (name == "shapes") tensors.shapes = text;
    if (name == "types") tensors.types = text;
    if (name == "strides") tensors.strides = text;
  }
}

void HostNodeReader::read_attributes(JsonTokens& tokens, HostNode& node) {
  std::uint32_t before = 0;
  for (bool more = tokens.enter('['); more; more = tokens.next(']')) {
    const char* const here = tokens.here();
    std::optional<std::string_view> name;
    std::string_view type;
    Value value;
    for (bool more_fields = tokens.enter('{'); more_fields; more_fields = tokens.next('}')) {
      const std::string_view key = take_key(tokens);
      if (key == "name") {
        name = texts_.take_content(tokens);
      } else if (key == "type") {
        type = texts_.take_content(tokens);
      } else if (key == "value") {
        value = take_value(tokens);
      } else {
        tokens.skip();
      }
    }
    if (!name || value.token.empty()) place_->fail(here, "an attribute has no name or no value");
    const std::uint32_t index = find(*name, attributes_[before].follower);
    attributes_[before].follower = index;
    before = index;
    take(index, type, value, node);
  }
}

HostNodeReader::Value HostNodeReader::take_value(JsonTokens& tokens) {
  const char first = tokens.front();
  const char* const here = tokens.here();
  if (first != '"' && first != '[' && first != '{') return {.token = tokens.take_scalar(), .text = {}};
  return {.token = {here, 1}, .text = texts_.take_text(tokens)};
}

// null, too, is the number of no node.
std::uint64_t HostNodeReader::take_id(JsonTokens& tokens) const {
  const std::string_view token = tokens.take_scalar();
  const std::optional<std::uint64_t> id = read_json_id(token);
  if (!id && without_space(token) != "null")
    place_->fail(token.data(), "the number of a node was expected here");
  return id.value_or(0);
}

std::uint32_t HostNodeReader::find(std::string_view name, std::uint32_t guess) {
  if (guess != 0 && attributes_[guess].name == name) [[likely]]
    return guess;
  const std::uint32_t index = names_.intern(name);
  if (index == attributes_.size()) {
    Attribute& attribute = attributes_.emplace_back();
    attribute.name = trace_->text(trace_->intern(name));
    attribute.wanted =
        options_.all || std::ranges::find(kOfCommunication, name) != std::end(kOfCommunication);
  }
  return index;
}

TraceAttributeKind HostNodeReader::kind_of(Attribute& attribute, std::string_view type, const Value& value) {
  if (attribute.type == type && !type.empty()) return attribute.kind;
  const std::optional<Kind> kind = kind_named(type);
  if (!kind) {
    if (options_.lenient || type.empty()) return Kind::kNone;
    place_->fail(value.token.data(), format("attribute '{}' has the unknown type '{}'", attribute.name, type),
                 "known: int64, uint64, string, bool, double and the other types of Chakra's attributes");
  }
  attribute.type = to_string(*kind);
  attribute.kind = *kind;
  return *kind;
}

void HostNodeReader::take(std::uint32_t index, std::string_view type, const Value& value, HostNode& node) {
  Attribute& attribute = attributes_[index];
  if (attribute.name == "rf_id") node.record_function = read_json_id(value.token).value_or(0);
  if (attribute.name == "tid") node.thread = read_json_id(value.token).value_or(0);
  if (!attribute.wanted) return;
  const Kind kind = kind_of(attribute, type, value);
  if (is_text(kind) && !value.text.is_json && value.token.front() == '"')
    return put(index, kind, texts_.intern(value.text), node);
  if (is_text(kind) && value.text.is_json) return put(index, kind, texts_.intern(value.text), node);
  if (const std::optional<std::uint64_t> bits = number_of(kind, value.token))
    return put(index, kind, *bits, node);
  if (kind != Kind::kNone && !options_.lenient)
    place_->fail(value.token.data(), format("the value of attribute '{}' is no {}", attribute.name, type));
  take_as_it_is(index, value, node);
}

void HostNodeReader::take_as_it_is(std::uint32_t index, const Value& value, HostNode& node) {
  const char first = value.token.front();
  if (first == '"' || first == '[' || first == '{')
    return put(index, Kind::kString, texts_.intern(value.text), node);
  const JsonNumber number = read_json_number(value.token);
  if (number.kind == JsonNumber::kInt64) return put(index, Kind::kInt64, number.bits, node);
  if (number.kind == JsonNumber::kUint64) return put(index, Kind::kUint64, number.bits, node);
  if (number.kind == JsonNumber::kDouble) return put(index, Kind::kDouble, number.bits, node);
  if (const auto bits = number_of(Kind::kBool, value.token)) return put(index, Kind::kBool, *bits, node);
  if (value.token.starts_with("null")) return put(index, Kind::kNone, 0, node);
  place_->fail(value.token.data(), "this is not JSON");
}

void HostNodeReader::put(std::uint32_t index, TraceAttributeKind kind, std::uint64_t payload,
                         HostNode& node) {
  Attribute& attribute = attributes_[index];
  if (!attribute.key || attribute.key_kind != kind) {
    attribute.key = trace_->key(attribute.name, kind);
    attribute.key_kind = kind;
  }
  const InternedAttribute value{.key = *attribute.key, .payload = payload};
  if (attribute.node == node_) {
    node.attributes[attribute.at] = value;
    return;
  }
  attribute.node = node_;
  attribute.at = node.attributes.size();
  node.attributes.push_back(value);
}

void HostNodeReader::finish(HostNode& node) {
  if (!node.id) place_->fail("a node has no id");
  const auto intern = [&](const Tensors& tensors) -> InternedIo {
    if (!options_.all && !is_communication(node.name)) return {};
    return {.values = texts_.intern(tensors.values),
            .shapes = texts_.intern(tensors.shapes),
            .types = texts_.intern(tensors.types)};
  };
  node.input_values = inputs_.values.text;
  node.inputs = intern(inputs_);
  node.outputs = intern(outputs_);
  if (!options_.all) return;
  if (inputs_.strides.is_json)
    put(find("input_strides", 0), Kind::kString, texts_.intern(inputs_.strides), node);
  if (outputs_.strides.is_json)
    put(find("output_strides", 0), Kind::kString, texts_.intern(outputs_.strides), node);
}

}  // namespace nadi::inline traces
