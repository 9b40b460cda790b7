#include "nadi/torch_file/pickle_arena.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/units.h"
#include "nadi/torch_file/pickle_node.h"

namespace nadi::inline files {
namespace {

// A dictionary with more entries has an index.
constexpr std::size_t kEntriesWithoutIndex = 8;

}  // namespace

PickleDictParts& PickleContents::parts_of(PickleNode& dict) {
  if (!dict.has_parts()) dict.value = &dicts.emplace_back();
  return dict.parts<PickleDictParts>();
}

void PickleContents::set_entry(PickleNode& dict, PickleNode* key, PickleNode* entry) {
  const std::optional<PickleKey> wanted = key_of(*key);
  if (wanted) {
    if (const auto at = find_entry(dict, *wanted)) {
      dict.items[*at] = entry;
      return;
    }
  }
  dict.items.push_back(key);
  dict.items.push_back(entry);
  if (dict.items.size() <= 2 * kEntriesWithoutIndex) return;
  PickleDictParts& parts = parts_of(dict);
  for (std::size_t i = std::exchange(parts.is_indexed, true) ? dict.items.size() - 2 : 0;
       i < dict.items.size(); i += 2)
    if (const auto each = key_of(*dict.items[i])) {
      parts.index.emplace(*each, i + 1);
      ++indexed_entries;
    }
}

std::int64_t PickleContents::memory() const {
  // With the tree's pointers and what the heap adds.
  constexpr std::size_t kIndexEntry = sizeof(std::pair<const PickleKey, std::size_t>) + 48;
  return static_cast<std::int64_t>(
      nodes.size() * sizeof(PickleNode) + dicts.size() * sizeof(PickleDictParts) +
      objects.size() * sizeof(PickleObjectParts) + tensors.size() * sizeof(PickleTensorParts) +
      storages.size() * sizeof(TorchStorage) + texts.size() * sizeof(std::string) + text_bytes +
      indexed_entries * kIndexEntry);
}

PickleArena::PickleArena(std::string file)
    : contents_(std::make_unique<PickleContents>(PickleContents{.file = std::move(file)})) {}
PickleArena::PickleArena(PickleArena&&) noexcept = default;
PickleArena& PickleArena::operator=(PickleArena&&) noexcept = default;
PickleArena::~PickleArena() = default;

const std::string& PickleArena::file() const {
  return contents_->file;
}

PickleValue PickleArena::value_of(PickleNode* node) const {
  return {contents_.get(), node};
}

PickleValue PickleArena::none() {
  return value_of(&contents_->nodes.emplace_back());
}

PickleValue PickleArena::boolean(bool value) {
  return value_of(&contents_->nodes.emplace_back(
      PickleNode{.kind = PickleKind::kBool, .detail = static_cast<std::uint8_t>(value ? 1 : 0)}));
}

PickleValue PickleArena::integer(std::int64_t value) {
  return value_of(&contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kInt, .value = value}));
}

PickleValue PickleArena::big_integer(std::string_view little_endian) {
  constexpr std::size_t kBytes = sizeof(std::int64_t);
  const bool is_negative =
      !little_endian.empty() && (static_cast<unsigned char>(little_endian.back()) & 0x80) != 0;
  const char sign = is_negative ? '\xff' : '\0';
  // Python writes no more bytes than it needs; others may.
  std::size_t needed = little_endian.size();
  while (needed > 1 && little_endian[needed - 1] == sign &&
         (static_cast<unsigned char>(little_endian[needed - 2]) & 0x80) == (is_negative ? 0x80 : 0))
    --needed;
  if (needed > kBytes)
    return value_of(&contents_->nodes.emplace_back(
        PickleNode{.kind = PickleKind::kInt, .value = contents_->keep(little_endian.substr(0, needed))}));
  std::string padded(kBytes, sign);
  std::copy_n(little_endian.begin(), needed, padded.begin());
  std::int64_t value;
  std::memcpy(&value, padded.data(), kBytes);
  return integer(value);
}

PickleValue PickleArena::real(double value) {
  return value_of(&contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kFloat, .value = value}));
}

PickleValue PickleArena::text(std::string_view value) {
  return value_of(
      &contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kText, .value = contents_->keep(value)}));
}

PickleValue PickleArena::bytes(std::string_view value) {
  return value_of(&contents_->nodes.emplace_back(
      PickleNode{.kind = PickleKind::kBytes, .value = contents_->keep(value)}));
}

PickleValue PickleArena::list(std::span<const PickleValue> elements) {
  PickleNode& node = contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kList});
  for (const PickleValue& element : elements) node.items.push_back(element.node_);
  return value_of(&node);
}

PickleValue PickleArena::tuple(std::span<const PickleValue> elements) {
  const PickleValue tuple = list(elements);
  tuple.node_->kind = PickleKind::kTuple;
  return tuple;
}

PickleValue PickleArena::tuple(std::initializer_list<PickleValue> elements) {
  return tuple(std::span(elements.begin(), elements.size()));
}

PickleValue PickleArena::size(std::span<const std::int64_t> extents) {
  std::vector<PickleValue> elements;
  for (const std::int64_t extent : extents) elements.push_back(integer(extent));
  const PickleValue size = list(elements);
  size.node_->kind = PickleKind::kSize;
  return size;
}

PickleValue PickleArena::set_of(std::span<const PickleValue> elements, bool frozen) {
  const PickleValue set = list(elements);
  set.node_->kind = PickleKind::kSet;
  set.node_->detail = frozen ? 1 : 0;
  return set;
}

PickleValue PickleArena::dict() {
  return value_of(&contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kDict}));
}

PickleValue PickleArena::ordered_dict() {
  const PickleValue made = dict();
  made.node_->detail = static_cast<std::uint8_t>(PickleDictType::kOrdered);
  return made;
}

PickleValue PickleArena::counter() {
  const PickleValue made = dict();
  made.node_->detail = static_cast<std::uint8_t>(PickleDictType::kCounter);
  return made;
}

PickleValue PickleArena::dtype(FileDType dtype) {
  return value_of(&contents_->nodes.emplace_back(
      PickleNode{.kind = PickleKind::kDType, .detail = static_cast<std::uint8_t>(dtype)}));
}

PickleValue PickleArena::device(std::string_view device) {
  return value_of(&contents_->nodes.emplace_back(
      PickleNode{.kind = PickleKind::kDevice, .value = contents_->keep(device)}));
}

PickleValue PickleArena::global(const PickleClass& type) {
  PickleObjectParts& parts = contents_->objects.emplace_back(
      PickleObjectParts{.module = contents_->keep(type.module), .name = contents_->keep(type.name)});
  return value_of(&contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kGlobal, .value = &parts}));
}

PickleValue PickleArena::object(const PickleClass& type, PickleValue arguments) {
  check(arguments.kind() == PickleKind::kTuple, "arguments of an object are a tuple");
  const PickleValue made = global(type);
  made.node_->kind = PickleKind::kObject;
  made.node_->parts<PickleObjectParts>().arguments = arguments.node_;
  return made;
}

PickleValue PickleArena::new_object(const PickleClass& type, PickleValue arguments,
                                    std::optional<PickleValue> named_arguments) {
  const PickleValue made = object(type, arguments);
  auto& parts = made.node_->parts<PickleObjectParts>();
  parts.made_by_new = true;
  if (named_arguments) parts.named_arguments = named_arguments->node_;
  return made;
}

TorchStorage& PickleArena::storage(FileDType dtype, std::int64_t elements) {
  return contents_->storages.emplace_back(
      TorchStorage{.dtype = dtype, .size = checked_multiply(elements, size_of(dtype), "bytes of a storage")});
}

TorchStorage& PickleArena::untyped_storage(std::int64_t bytes) {
  return contents_->storages.emplace_back(
      TorchStorage{.dtype = FileDType::kU8, .untyped = true, .size = bytes});
}

PickleValue PickleArena::storage_value(const TorchStorage& storage) {
  return value_of(
      &contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kStorage,
                                                .detail = static_cast<std::uint8_t>(storage.dtype),
                                                .value = const_cast<TorchStorage*>(&storage)}));
}

PickleValue PickleArena::tensor(TorchTensor tensor) {
  const auto& strides = tensor.strides;
  if (std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 0; }))
    tensor.strides = contiguous_strides(tensor.shape);
  PickleTensorParts& parts = contents_->tensors.emplace_back(PickleTensorParts{.tensor = tensor});
  return value_of(&contents_->nodes.emplace_back(PickleNode{.kind = PickleKind::kTensor, .value = &parts}));
}

void PickleArena::append(PickleValue list, PickleValue element) {
  PickleNode* target = list.node_;
  if (target->kind == PickleKind::kObject) {
    auto& parts = target->parts<PickleObjectParts>();
    if (parts.elements == nullptr) parts.elements = this->list().node_;
    target = parts.elements;
  }
  check(target->kind == PickleKind::kList, "elements are appended to lists only");
  target->items.push_back(element.node_);
}

void PickleArena::add(PickleValue set, PickleValue element) {
  check(set.kind() == PickleKind::kSet, "elements are added to sets only");
  set.node_->items.push_back(element.node_);
}

void PickleArena::set(PickleValue dict, PickleValue key, PickleValue value) {
  PickleNode* target = dict.node_;
  if (target->kind == PickleKind::kObject) {
    auto& parts = target->parts<PickleObjectParts>();
    if (parts.entries == nullptr) parts.entries = this->dict().node_;
    target = parts.entries;
  }
  check(target->kind == PickleKind::kDict, "entries are set in dictionaries only");
  contents_->set_entry(*target, key.node_, value.node_);
}

void PickleArena::set(PickleValue dict, std::string_view key, PickleValue value) {
  set(dict, text(key), value);
}

void PickleArena::set_state(PickleValue target, PickleValue state) {
  switch (target.kind()) {
    case PickleKind::kDict:
      contents_->parts_of(*target.node_).state = state.node_;
      return;
    case PickleKind::kObject:
      target.node_->parts<PickleObjectParts>().state = state.node_;
      return;
    default:
      check(target.kind() == PickleKind::kTensor, "only objects, dictionaries and tensors have a state");
      target.node_->parts<PickleTensorParts>().state = state.node_;
  }
}

void PickleArena::set_attribute(PickleValue object, std::string_view name, PickleValue value) {
  if (!object.state()) set_state(object, dict());
  set(*object.state(), name, value);
}

void PickleArena::set_root(PickleValue root) {
  contents_->root = root.node_;
}

PickleValue PickleArena::root() const {
  check(contents_->root != nullptr, "a pickle has no root");
  return value_of(contents_->root);
}

std::size_t PickleArena::storages() const {
  return contents_->storages.size();
}

TorchStorage& PickleArena::storage_at(std::size_t index) {
  return contents_->storages[index];
}

}  // namespace nadi::inline files
