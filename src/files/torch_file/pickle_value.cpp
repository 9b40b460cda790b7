#include "nadi/torch_file/pickle_value.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/torch_file/pickle_node.h"

namespace nadi::inline files {
namespace {

struct KindName {
  PickleKind kind;
  std::string_view name;
};

// In the order of PickleKind.
constexpr std::array kKindNames{
    KindName{PickleKind::kNone, "None"},          KindName{PickleKind::kBool, "a truth value"},
    KindName{PickleKind::kInt, "a whole number"}, KindName{PickleKind::kFloat, "a number"},
    KindName{PickleKind::kText, "a text"},        KindName{PickleKind::kBytes, "a string of bytes"},
    KindName{PickleKind::kList, "a list"},        KindName{PickleKind::kTuple, "a tuple"},
    KindName{PickleKind::kSize, "a size"},        KindName{PickleKind::kDict, "a dictionary"},
    KindName{PickleKind::kSet, "a set"},          KindName{PickleKind::kDType, "a dtype"},
    KindName{PickleKind::kDevice, "a device"},    KindName{PickleKind::kStorage, "a storage"},
    KindName{PickleKind::kTensor, "a tensor"},    KindName{PickleKind::kGlobal, "a class or function"},
    KindName{PickleKind::kObject, "an object"},
};

constexpr std::size_t kLongestPath = 64;  // steps that a path shows; real ones have a handful

// A node on the way from the root, and how it was reached.
struct Reached {
  const PickleNode* from;
  std::string step;  // "" where a path does not show it
};

std::string step_to(const PickleNode& container, std::size_t index) {
  if (container.kind != PickleKind::kDict) return std::to_string(index);
  const std::optional<PickleKey> key = key_of(*container.items[index - 1]);
  if (!key) return format("entry {}", index / 2);
  return key->is_text ? std::string(key->text) : std::to_string(key->number);
}

using ReachedNodes = std::unordered_map<const PickleNode*, Reached>;

// Everything that `node` holds directly, except keys.
void reach_children(const PickleNode& node, ReachedNodes& reached, std::vector<const PickleNode*>& next) {
  const auto reach = [&](const PickleNode* child, std::string step) {
    if (child != nullptr && reached.try_emplace(child, Reached{&node, std::move(step)}).second)
      next.push_back(child);
  };
  const bool is_dict = node.kind == PickleKind::kDict;
  for (std::size_t i = is_dict ? 1 : 0; i < node.items.size(); i += is_dict ? 2 : 1)
    if (!reached.contains(node.items[i])) reach(node.items[i], step_to(node, i));
  reach(state_of(node), "");
  if (node.kind != PickleKind::kObject) return;
  const auto& parts = node.parts<PickleObjectParts>();
  reach(parts.arguments, "arguments");
  reach(parts.named_arguments, "arguments");
  reach(parts.entries, "");
  reach(parts.elements, "");
}

// "" when the root does not reach it.
std::string path_to(const PickleNode* root, const PickleNode* target) {
  if (root == nullptr || root == target) return "";
  ReachedNodes reached{{root, Reached{nullptr, ""}}};
  std::vector<const PickleNode*> now{root};
  while (!now.empty() && !reached.contains(target)) {
    std::vector<const PickleNode*> next;
    for (const PickleNode* node : now) reach_children(*node, reached, next);
    now = std::move(next);
  }
  std::string path;
  std::size_t steps = 0;
  for (auto step = reached.find(target); step != reached.end() && step->second.from != nullptr;
       step = reached.find(step->second.from)) {
    if (step->second.step.empty()) continue;
    if (++steps > kLongestPath) return "…/" + path;
    path = path.empty() ? step->second.step : step->second.step + '/' + path;
  }
  return path;
}

const PickleNode& no_entries() {
  static const PickleNode none{.kind = PickleKind::kDict};
  return none;
}

}  // namespace

std::string_view name_of(PickleKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)].name;
}

std::optional<PickleKey> key_of(const PickleNode& node) {
  if (node.kind == PickleKind::kText)
    return PickleKey{.is_text = true, .text = std::get<std::string_view>(node.value)};
  if (node.kind == PickleKind::kInt && std::holds_alternative<std::int64_t>(node.value))
    return PickleKey{.number = std::get<std::int64_t>(node.value)};
  return std::nullopt;
}

std::optional<std::size_t> find_entry(const PickleNode& dict, const PickleKey& key) {
  if (dict.has_parts() && dict.parts<PickleDictParts>().is_indexed) {
    const auto& index = dict.parts<PickleDictParts>().index;
    const auto found = index.find(key);
    return found == index.end() ? std::nullopt : std::optional(found->second);
  }
  for (std::size_t i = 0; i < dict.items.size(); i += 2)
    if (key_of(*dict.items[i]) == key) return i + 1;
  return std::nullopt;
}

PickleNode* state_of(const PickleNode& node) {
  if (node.kind == PickleKind::kDict && node.has_parts()) return node.parts<PickleDictParts>().state;
  if (node.kind == PickleKind::kObject) return node.parts<PickleObjectParts>().state;
  if (node.kind == PickleKind::kTensor) return node.parts<PickleTensorParts>().state;
  return nullptr;
}

PickleKind PickleValue::kind() const {
  return node_->kind;
}

bool PickleValue::is_sequence() const {
  return kind() == PickleKind::kList || kind() == PickleKind::kTuple || kind() == PickleKind::kSize;
}

bool PickleValue::is_a(std::string_view class_name) const {
  return (is_object() || kind() == PickleKind::kGlobal) && full_class_name() == class_name;
}

const PickleNode& PickleValue::entries() const {
  if (is_dict()) return *node_;
  if (!is_object()) throw wrong_kind("a dictionary or an object");
  const auto& parts = node_->parts<PickleObjectParts>();
  if (parts.state != nullptr && parts.state->kind == PickleKind::kDict) return *parts.state;
  // The state of an object with slots: a pair of its __dict__, or None, and of the slots.
  if (parts.state != nullptr && parts.state->kind == PickleKind::kTuple && parts.state->items.size() == 2)
    for (const PickleNode* half : {parts.state->items[1], parts.state->items[0]})
      if (half->kind == PickleKind::kDict) return *half;
  return no_entries();
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  const PickleNode& dict = entries();
  const auto at = find_entry(dict, {.is_text = true, .text = key});
  if (!at) return std::nullopt;
  return PickleValue{arena_, dict.items[*at], const_cast<PickleNode*>(&dict), *at};
}

std::optional<PickleValue> PickleValue::find(std::int64_t key) const {
  const PickleNode& dict = entries();
  const auto at = find_entry(dict, {.number = key});
  if (!at) return std::nullopt;
  return PickleValue{arena_, dict.items[*at], const_cast<PickleNode*>(&dict), *at};
}

PickleValue PickleValue::at(std::string_view key) const {
  if (const auto found = find(key)) return *found;
  std::vector<std::string_view> known;
  for (const PickleItem& item : items())
    if (item.key.is_text()) known.push_back(item.key.as_text());
  const auto near = nearest(key, known);
  throw error_at(*this, format("{} is missing", quote_for_message(key)),
                 near ? format("there is {}", quote_for_message(*near)) : "");
}

PickleValue PickleValue::at_key(std::int64_t key) const {
  if (const auto found = find(key)) return *found;
  throw error_at(*this, format("entry {} is missing", key));
}

std::vector<PickleItem> PickleValue::items() const {
  const PickleNode& dict = entries();
  auto* const parent = const_cast<PickleNode*>(&dict);
  std::vector<PickleItem> items;
  items.reserve(dict.items.size() / 2);
  for (std::size_t i = 0; i < dict.items.size(); i += 2)
    items.push_back(
        {.key = {arena_, dict.items[i], parent, i + 1}, .value = {arena_, dict.items[i + 1], parent, i + 1}});
  return items;
}

const PickleNode& PickleValue::sequence() const {
  if (!is_sequence() && kind() != PickleKind::kSet) throw wrong_kind("a list or a tuple");
  return *node_;
}

std::vector<PickleValue> PickleValue::elements() const {
  const PickleNode& list = sequence();
  std::vector<PickleValue> elements;
  elements.reserve(list.items.size());
  for (std::size_t i = 0; i < list.items.size(); ++i) elements.push_back(child(list.items[i], i));
  return elements;
}

PickleValue PickleValue::element(std::size_t index) const {
  const PickleNode& list = sequence();
  if (index >= list.items.size())
    throw error_at(*this, format("element {} is missing: there are {}", index, list.items.size()));
  return child(list.items[index], index);
}

std::size_t PickleValue::size() const {
  if (is_dict() || is_object()) return entries().items.size() / 2;
  return sequence().items.size();
}

void PickleValue::expect(PickleKind kind) const {
  if (this->kind() != kind) throw wrong_kind(name_of(kind));
}

Error PickleValue::wrong_kind(std::string_view wanted) const {
  std::string found(name_of(kind()));
  if (is_object()) found += format(" of class {}", quote_for_message(full_class_name()));
  const std::string where = path();
  return input_error(
      {.file = file()},
      format("{} is {}, not {}", where.empty() ? std::string("the value") : quote_for_message(where), found,
             wanted));
}

bool PickleValue::as_bool() const {
  expect(PickleKind::kBool);
  return node_->detail != 0;
}

std::int64_t PickleValue::as_int64() const {
  expect(PickleKind::kInt);
  if (const auto* value = std::get_if<std::int64_t>(&node_->value)) return *value;
  throw error_at(*this, "the number does not fit 64 bits");
}

std::string_view PickleValue::big_int() const {
  expect(PickleKind::kInt);
  const auto* digits = std::get_if<std::string_view>(&node_->value);
  return digits != nullptr ? *digits : std::string_view();
}

double PickleValue::as_double() const {
  if (is_int()) return static_cast<double>(as_int64());
  if (!is_float()) throw wrong_kind("a number");
  return std::get<double>(node_->value);
}

std::string_view PickleValue::as_text() const {
  expect(PickleKind::kText);
  return std::get<std::string_view>(node_->value);
}

std::string_view PickleValue::as_bytes() const {
  if (!is_text()) expect(PickleKind::kBytes);
  return std::get<std::string_view>(node_->value);
}

FileDType PickleValue::as_dtype() const {
  expect(PickleKind::kDType);
  return static_cast<FileDType>(node_->detail);
}

std::string_view PickleValue::as_device() const {
  expect(PickleKind::kDevice);
  return std::get<std::string_view>(node_->value);
}

std::vector<std::int64_t> PickleValue::as_int64s() const {
  std::vector<std::int64_t> numbers;
  for (const PickleValue& element : elements()) numbers.push_back(element.as_int64());
  return numbers;
}

const TorchTensor& PickleValue::as_tensor() const {
  expect(PickleKind::kTensor);
  return node_->parts<PickleTensorParts>().tensor;
}

const TorchStorage& PickleValue::as_storage() const {
  expect(PickleKind::kStorage);
  return node_->parts<TorchStorage>();
}

std::string_view PickleValue::module() const {
  if (is_object() || kind() == PickleKind::kGlobal) return node_->parts<PickleObjectParts>().module;
  if (is_dict() && static_cast<PickleDictType>(node_->detail) != PickleDictType::kPlain) return "collections";
  if (!is_dict() && kind() != PickleKind::kSet) throw wrong_kind("an object");
  return "builtins";
}

std::string_view PickleValue::class_name() const {
  if (is_object() || kind() == PickleKind::kGlobal) return node_->parts<PickleObjectParts>().name;
  if (kind() == PickleKind::kSet) return node_->detail != 0 ? "frozenset" : "set";
  if (!is_dict()) throw wrong_kind("an object");
  switch (static_cast<PickleDictType>(node_->detail)) {
    case PickleDictType::kPlain:
      return "dict";
    case PickleDictType::kOrdered:
      return "OrderedDict";
    case PickleDictType::kCounter:
      return "Counter";
  }
  unreachable();
}

std::string PickleValue::full_class_name() const {
  return format("{}.{}", module(), class_name());
}

PickleValue PickleValue::arguments() const {
  expect(PickleKind::kObject);
  return {arena_, node_->parts<PickleObjectParts>().arguments};
}

std::optional<PickleValue> PickleValue::named_arguments() const {
  expect(PickleKind::kObject);
  PickleNode* const named = node_->parts<PickleObjectParts>().named_arguments;
  return named == nullptr ? std::nullopt : std::optional(PickleValue{arena_, named});
}

bool PickleValue::is_made_by_new() const {
  expect(PickleKind::kObject);
  return node_->parts<PickleObjectParts>().made_by_new;
}

std::optional<PickleValue> PickleValue::state() const {
  PickleNode* const state = state_of(*node_);
  return state == nullptr ? std::nullopt : std::optional(PickleValue{arena_, state});
}

std::optional<PickleValue> PickleValue::object_entries() const {
  expect(PickleKind::kObject);
  PickleNode* const entries = node_->parts<PickleObjectParts>().entries;
  return entries == nullptr ? std::nullopt : std::optional(PickleValue{arena_, entries});
}

std::optional<PickleValue> PickleValue::object_elements() const {
  expect(PickleKind::kObject);
  PickleNode* const elements = node_->parts<PickleObjectParts>().elements;
  return elements == nullptr ? std::nullopt : std::optional(PickleValue{arena_, elements});
}

std::string PickleValue::path() const {
  const PickleNode* const root = arena_->root;
  if (parent_ == nullptr) return path_to(root, node_);
  const std::string parent = path_to(root, parent_);
  const std::string step = step_to(*parent_, index_);
  return parent.empty() ? step : parent + '/' + step;
}

const std::string& PickleValue::file() const {
  return arena_->file;
}

Error error_at(const PickleValue& value, std::string message, std::string hint) {
  const std::string path = value.path();
  if (!path.empty()) message = format("{}: {}", quote_for_message(path), message);
  return input_error({.file = value.file()}, std::move(message), std::move(hint));
}

}  // namespace nadi::inline files
