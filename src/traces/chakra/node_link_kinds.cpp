// What nodes of a graph stand for: ours say so, those of other tools give hints.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "nadi/chakra/node_link_graph.h"
#include "nadi/graph/collective_table.h"

namespace nadi::inline traces {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return lower;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<NodeLinkKind> kind_of_word(std::string_view word) {
  const std::string lower = lower_case(word);
  if (lower.starts_with("tensor") || lower == "parameter" || lower == "activation" || lower == "weight")
    return NodeLinkKind::kTensor;
  if (lower.starts_with("comm") || lower == "collective" || lower == "send" || lower == "receive")
    return NodeLinkKind::kCommunication;
  if (lower.starts_with("comp") || lower.starts_with("op") || lower.starts_with("mem_") ||
      lower == "metadata" || lower == "invalid")
    return NodeLinkKind::kOp;
  return std::nullopt;
}

std::optional<NodeLinkKind> kind_of_colour(std::string_view colour) {
  const std::string lower = lower_case(colour);
  if (holds(lower, "green")) return NodeLinkKind::kTensor;
  if (holds(lower, "red")) return NodeLinkKind::kCommunication;
  if (holds(lower, "blue")) return NodeLinkKind::kOp;
  return std::nullopt;
}

// "all_reduce_3" and "c10d::allreduce_" are collectives.
bool is_collective_name(std::string_view name) {
  std::string lower = lower_case(name.substr(std::min(name.rfind(':') + 1, name.size())));
  std::erase(lower, '_');
  std::erase(lower, '-');
  return collective_with_prefix(lower).has_value();
}

// Numbers of a text such as "(1, 128)" or "1x128"; nothing where it holds anything else.
bool numbers_in(std::string_view text, std::vector<std::int64_t>& numbers) {
  const auto allowed = [](char c) {
    constexpr std::string_view kAround = "()[], x*";
    return (c >= '0' && c <= '9') || kAround.find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(text, allowed)) return false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{}) return false;
    numbers.push_back(number);
    at = static_cast<std::size_t>(end - text.data());
  }
  return true;
}

std::optional<std::int64_t> element_bytes(std::string_view dtype) {
  struct Entry {
    std::string_view part;
    std::int64_t bytes;
  };
  // The first that the name holds: "torch.bfloat16" before "float".
  constexpr std::array kEntries{
      Entry{"complex128", 16}, Entry{"complex64", 8}, Entry{"64", 8},     Entry{"bf16", 2},
      Entry{"16", 2},          Entry{"32", 4},        Entry{"double", 8}, Entry{"half", 2},
      Entry{"float8", 1},      Entry{"fp8", 1},       Entry{"float", 4},  Entry{"long", 8},
      Entry{"int8", 1},        Entry{"int", 4},       Entry{"bool", 1},   Entry{"byte", 1}};
  const std::string lower = lower_case(dtype);
  for (const Entry& entry : kEntries)
    if (holds(lower, entry.part)) return entry.bytes;
  return std::nullopt;
}

std::optional<std::int64_t> product(const std::vector<std::int64_t>& shape, std::int64_t times) {
  for (const std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(times, size, &times)) return std::nullopt;
  return times;
}

}  // namespace

const Json* find_member(const NodeLinkMembers& members, std::string_view name) {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

std::string text_member(const NodeLinkMembers& members, std::string_view name) {
  const Json* value = find_member(members, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::optional<std::int64_t> integer_member(const NodeLinkMembers& members, std::string_view name) {
  const Json* value = find_member(members, name);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > kMost) return std::nullopt;
  return value->get<std::int64_t>();
}

NodeLinkKind kind_of(const NodeLinkNode& node) {
  for (const std::string_view name : {"type", "kind", "node_type", "category"})
    if (const auto kind = kind_of_word(text_member(node.members, name))) return *kind;
  for (const std::string_view name : {"color", "fillcolor", "colour"})
    if (const auto kind = kind_of_colour(text_member(node.members, name))) return *kind;
  for (const std::string_view name : {"op", "op_type"})
    if (is_collective_name(text_member(node.members, name))) return NodeLinkKind::kCommunication;
  const std::string name = name_of(node);
  if (is_collective_name(name)) return NodeLinkKind::kCommunication;
  if (lower_case(name).starts_with("tensor") ||
      (find_member(node.members, "dtype") != nullptr && find_member(node.members, "op") == nullptr))
    return NodeLinkKind::kTensor;
  return NodeLinkKind::kOp;
}

NodeLinkTensor tensor_of(const NodeLinkNode& node) {
  NodeLinkTensor tensor{.name = name_of(node)};
  for (const std::string_view name : {"shape", "size"}) {
    const Json* shape = find_member(node.members, name);
    if (shape == nullptr || tensor.has_shape) continue;
    if (shape->is_array()) {
      tensor.has_shape = std::ranges::all_of(*shape, [](const Json& n) { return n.is_number_integer(); });
      if (tensor.has_shape) tensor.shape = shape->get<std::vector<std::int64_t>>();
    } else if (shape->is_string()) {
      tensor.has_shape = numbers_in(shape->get_ref<const std::string&>(), tensor.shape);
      if (!tensor.has_shape) tensor.shape.clear();
    }
  }
  tensor.dtype = text_member(node.members, "dtype");
  for (const std::string_view name : {"bytes", "size_bytes", "nbytes", "tensor_size"})
    if (!tensor.bytes) tensor.bytes = integer_member(node.members, name);
  if (tensor.bytes && *tensor.bytes < 0) tensor.bytes.reset();
  if (!tensor.bytes && tensor.has_shape)
    if (const auto element = element_bytes(tensor.dtype)) tensor.bytes = product(tensor.shape, *element);
  return tensor;
}

std::string name_of(const NodeLinkNode& node) {
  for (const std::string_view name : {"name", "label", "op"})
    if (std::string text = text_member(node.members, name); !text.empty()) return text;
  return node.id.is_string() ? node.id.get<std::string>()
                             : node.id.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nadi::inline traces
