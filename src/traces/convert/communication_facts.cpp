#include "nadi/convert/communication_facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "nadi/base/json.h"
#include "nadi/graph/collective_table.h"
#include "nadi/trace/communication_kernels.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {

namespace {

struct DtypeEntry {
  std::string_view name;
  std::int64_t bytes;
};
// As PyTorch's scalar types print, and as the types of C++ do.
constexpr std::array kDtypes{
    DtypeEntry{"float", 4},
    DtypeEntry{"double", 8},
    DtypeEntry{"half", 2},
    DtypeEntry{"bfloat16", 2},
    DtypeEntry{"byte", 1},
    DtypeEntry{"char", 1},
    DtypeEntry{"bool", 1},
    DtypeEntry{"short", 2},
    DtypeEntry{"int", 4},
    DtypeEntry{"long", 8},
    DtypeEntry{"unsigned char", 1},
    DtypeEntry{"signed char", 1},
    DtypeEntry{"short int", 2},
    DtypeEntry{"long int", 8},
    DtypeEntry{"uint16", 2},
    DtypeEntry{"uint32", 4},
    DtypeEntry{"uint64", 8},
    DtypeEntry{"float8_e4m3fn", 1},
    DtypeEntry{"float8_e5m2", 1},
    DtypeEntry{"float8_e4m3fnuz", 1},
    DtypeEntry{"float8_e5m2fnuz", 1},
    DtypeEntry{"complexhalf", 4},
    DtypeEntry{"complexfloat", 8},
    DtypeEntry{"complexdouble", 16},
};

struct KindEntry {
  std::string_view prefix;
  CommunicationKind kind;
};
// Words for messages: names without underscores, in lower case; the longer one first where one starts with another.
// Collectives are in trace/collective_table.h.
constexpr std::array kKinds{
    // Not a kind: many messages at once, and whose is not said.
    KindEntry{"sendrecv", {.type = NodeType::kInvalid}}, KindEntry{"send", {.type = NodeType::kCommSend}},
    KindEntry{"isend", {.type = NodeType::kCommSend}},   KindEntry{"recv", {.type = NodeType::kCommRecv}},
    KindEntry{"irecv", {.type = NodeType::kCommRecv}},
};

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

void set(std::string& field, const TraceAttribute& attribute) {
  if (const auto text = attribute.string(); field.empty() && text) field = *text;
}
void set(std::optional<std::int64_t>& field, const TraceAttribute& attribute) {
  if (!field) field = attribute.integer();
}

// "[0, 1, 2]"; empty for "[0, 1, ..., 63]", which PyTorch shortens.
std::vector<std::int64_t> parse_ranks(std::string_view text) {
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<std::int64_t> ranks;
  if (!list.is_array()) return ranks;
  for (const Json& rank : list) {
    if (!rank.is_number_integer()) return {};
    ranks.push_back(rank.get<std::int64_t>());
  }
  return ranks;
}

void set_ranks(CommunicationFacts& facts, const TraceAttribute& attribute) {
  if (!facts.ranks.empty()) return;
  if (const auto text = attribute.string()) {
    facts.ranks = parse_ranks(*text);
  } else if (attribute.kind == TraceAttributeKind::kInt64List) {
    for (const std::uint64_t bits : attribute.numbers) facts.ranks.push_back(static_cast<std::int64_t>(bits));
  }
}

// [id, storage, offset, elements, bytes of an element, device]
std::optional<std::int64_t> tensor_bytes(const Json& value) {
  constexpr std::size_t kElements = 3;
  constexpr std::size_t kElementBytes = 4;
  constexpr std::size_t kFields = 6;
  if (!value.is_array() || value.size() != kFields || !value.back().is_string()) return std::nullopt;
  if (!value[kElements].is_number_integer() || !value[kElementBytes].is_number_integer()) return std::nullopt;
  std::int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(value[kElements].get<std::int64_t>(),
                                                value[kElementBytes].get<std::int64_t>(), &bytes);
  return overflows ? std::nullopt : std::optional(bytes);
}

// All tensors in an input, which may be a list of them or a list of lists.
std::optional<Bytes> bytes_of(const Json& input) {
  std::vector<const Json*> open{&input};
  Bytes total;
  bool found = false;
  while (!open.empty()) {
    const Json& value = *open.back();
    open.pop_back();
    if (const auto bytes = tensor_bytes(value)) {
      total += Bytes{*bytes};
      found = true;
    } else if (value.is_array()) {
      for (const Json& element : value) open.push_back(&element);
    }
  }
  return found ? std::optional(total) : std::nullopt;
}

}  // namespace

std::optional<Bytes> CommunicationFacts::size() const {
  if (elements) {
    if (const auto bytes = element_bytes(dtype))
      return Bytes{checked_multiply(*elements, *bytes, "the size of a message")};
  }
  return input;
}

void add_attributes(CommunicationFacts& facts, const Trace& trace, std::size_t row) {
  for (std::size_t i = 0; i < trace.attribute_count(row); ++i) {
    const TraceAttribute attribute = trace.attribute(row, i);
    const std::string_view name = attribute.name;
    if (name == "Collective name" || name == "collective_name") set(facts.name, attribute);
    if (name == "dtype") set(facts.dtype, attribute);
    if (name == "In msg nelems" || name == "in_msg_nelems") set(facts.elements, attribute);
    if (name == "Out msg nelems" || name == "out_msg_nelems") set(facts.result_elements, attribute);
    if (name == "Process Group Name" || name == "pg_name") set(facts.group, attribute);
    if (name == "Process Group Description" || name == "pg_desc") set(facts.group_description, attribute);
    if (name == "Process Group Ranks") set_ranks(facts, attribute);
    if (name == "Group size" || name == "pg_size") set(facts.group_size, attribute);
    if (name == "Global rank start" || name == "global_rank_start") set(facts.first_rank, attribute);
    if (name == "Global rank stride" || name == "global_rank_stride") set(facts.rank_stride, attribute);
    if (name == "Src Rank") set(facts.source, attribute);
    if (name == "Dst Rank") set(facts.destination, attribute);
    if (name == "Rank") set(facts.peer, attribute);
  }
}

void add_inputs(CommunicationFacts& facts, const Trace& trace, std::size_t row) {
  const Json values = Json::parse(trace.inputs(row).values, nullptr, /*allow_exceptions=*/false);
  if (!values.is_array() || values.empty()) return;
  if (!facts.input) facts.input = bytes_of(values[0]);
  if (trace.name(row) != "record_param_comms") return;
  // Tensors, sequence number, (group, description), rank or peer, name, ...; without tensors for "wait".
  // Before PyTorch 2.1 a number stands in place of the pair.
  for (std::size_t i = 0; i + 2 < values.size(); ++i) {
    const Json& pair = values[i];
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) continue;
    if (facts.group.empty()) facts.group = pair[0].get<std::string>();
    if (facts.group_description.empty()) facts.group_description = pair[1].get<std::string>();
    if (!facts.peer && values[i + 1].is_number_integer()) facts.peer = values[i + 1].get<std::int64_t>();
    if (facts.name.empty() && values[i + 2].is_string()) facts.name = values[i + 2].get<std::string>();
    return;
  }
  for (std::size_t i = 0; i + 3 < values.size(); ++i) {
    const bool is_old = values[i].is_number_integer() && values[i + 1].is_number_integer() &&
                        values[i + 2].is_number_integer() && values[i + 3].is_string();
    if (!is_old) continue;
    if (!facts.group_handle) facts.group_handle = values[i + 1].get<std::int64_t>();
    if (!facts.peer) facts.peer = values[i + 2].get<std::int64_t>();
    if (facts.name.empty()) facts.name = values[i + 3].get<std::string>();
    return;
  }
}

void add_shapes(CommunicationFacts& facts, const Trace& trace, std::size_t row) {
  if (facts.input) return;
  const Json shapes = Json::parse(trace.inputs(row).shapes, nullptr, /*allow_exceptions=*/false);
  const Json types = Json::parse(trace.inputs(row).types, nullptr, /*allow_exceptions=*/false);
  if (!shapes.is_array() || !types.is_array() || shapes.size() != types.size()) return;
  Bytes total;
  bool found = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!types[i].is_string() || !shapes[i].is_array()) continue;
    // A type that is empty, "Scalar" or "TensorList" is none of a tensor whose shape is said.
    const std::optional<std::int64_t> bytes = element_bytes(types[i].get<std::string>());
    if (!bytes) continue;
    Bytes tensor{*bytes};
    bool is_shape = true;
    for (const Json& length : shapes[i]) {
      is_shape = is_shape && length.is_number_integer() && length.get<std::int64_t>() >= 0;
      if (is_shape)
        tensor = Bytes{checked_multiply(tensor.count(), length.get<std::int64_t>(), "the size of a message")};
    }
    if (!is_shape) continue;
    if (facts.dtype.empty()) facts.dtype = types[i].get<std::string>();
    total += tensor;
    found = true;
  }
  if (found) facts.input = total;
}

void add_annotation(CommunicationFacts& facts, const Trace& trace, std::size_t row) {
  const std::string_view name = trace.name(row);
  const std::size_t colon = name.find(':');
  if (facts.name.empty() && colon != std::string_view::npos) facts.name = name.substr(colon + 1);
  constexpr std::string_view kNccl = "nccl";  // ncclAllReduce
  if (facts.name.empty() && name.starts_with(kNccl)) facts.name = name.substr(kNccl.size());
  add_shapes(facts, trace, row);
}

std::optional<CommunicationKind> communication_kind(std::string_view name) {
  std::string letters;
  for (const char letter : name)
    if (letter != '_') letters += lower(letter);
  if (const std::optional<CollectiveType> collective = collective_with_prefix(letters))
    return CommunicationKind{.type = NodeType::kCommColl, .collective = *collective};
  for (const KindEntry& entry : kKinds) {
    if (!letters.starts_with(entry.prefix)) continue;
    return entry.kind.type == NodeType::kInvalid ? std::nullopt : std::optional(entry.kind);
  }
  return std::nullopt;
}

std::optional<CommunicationKind> kernel_kind(std::string_view kernel) {
  const std::optional<CommunicationKernel> known = find_communication_kernel(kernel);
  if (known && known->collective)
    return CommunicationKind{.type = NodeType::kCommColl, .collective = *known->collective};
  return std::nullopt;
}

std::optional<std::int64_t> element_bytes(std::string_view dtype) {
  constexpr std::string_view kNamespace = "c10::";
  if (dtype.starts_with(kNamespace)) dtype.remove_prefix(kNamespace.size());
  std::string name;
  for (const char letter : dtype) name += lower(letter);
  const auto* const found = std::ranges::find(kDtypes, std::string_view(name), &DtypeEntry::name);
  return found == kDtypes.end() ? std::nullopt : std::optional(found->bytes);
}

}  // namespace nadi::inline traces
