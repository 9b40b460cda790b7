// What PickleArena keeps for each value: for the sources of this folder only.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nadi/torch_file/pickle_arena.h"

namespace nadi::inline files {

enum class PickleDictType : std::uint8_t { kPlain, kOrdered, kCounter };

// A key that can be looked up.
struct PickleKey {
  bool is_text = false;
  std::int64_t number = 0;
  std::string_view text = {};
  auto operator<=>(const PickleKey&) const = default;
};

// What only few dictionaries need.
struct PickleDictParts {
  bool is_indexed = false;                      // once there are many entries
  std::map<PickleKey, std::size_t> index = {};  // of keys to the positions of their values
  PickleNode* state = nullptr;
};

struct PickleObjectParts {
  std::string_view module = {};
  std::string_view name = {};
  bool made_by_new = false;
  PickleNode* arguments = nullptr;        // of an object: a tuple
  PickleNode* named_arguments = nullptr;  // this and what follows: nullptr if there is none
  PickleNode* state = nullptr;
  PickleNode* entries = nullptr;
  PickleNode* elements = nullptr;
};

struct PickleTensorParts {
  TorchTensor tensor = {};
  PickleNode* state = nullptr;
};

struct PickleNode {
  PickleKind kind = PickleKind::kNone;
  // The value of a bool; whether a set is frozen; the PickleDictType of a dictionary; the FileDType of a
  // dtype or of a storage as a tensor sees it; the TorchGlobal of a global.
  std::uint8_t detail = 0;
  // By kind: a whole number, a float, a text (also of bytes, a device, a whole number of more than 64 bits),
  // parts.
  std::variant<std::monostate, std::int64_t, double, std::string_view, PickleDictParts*, PickleObjectParts*,
               PickleTensorParts*, TorchStorage*>
      value = {};
  // Elements; of a dictionary its keys and values in turn.
  std::vector<PickleNode*> items = {};

  template <typename T>
  T& parts() const {
    return *std::get<T*>(value);
  }
  bool has_parts() const { return !std::holds_alternative<std::monostate>(value); }
};

// The position of a key's value in items; nothing when it is not there.
std::optional<std::size_t> find_entry(const PickleNode& dict, const PickleKey& key);
// Key of a node: nothing for one that is neither a text nor a whole number of 64 bits.
std::optional<PickleKey> key_of(const PickleNode& node);

// nullptr if there is none.
PickleNode* state_of(const PickleNode& node);

struct PickleContents {
  std::string file = {};
  PickleNode* root = nullptr;
  std::deque<PickleNode> nodes = {};
  std::deque<PickleDictParts> dicts = {};
  std::deque<PickleObjectParts> objects = {};
  std::deque<PickleTensorParts> tensors = {};
  std::deque<TorchStorage> storages = {};
  std::deque<std::string> texts = {};

  std::size_t text_bytes = 0;       // of all texts
  std::size_t indexed_entries = 0;  // of all dictionaries

  std::string_view keep(std::string_view text) {
    text_bytes += text.size();
    return texts.emplace_back(text);
  }
  PickleNode* make(PickleKind kind) { return &nodes.emplace_back(PickleNode{.kind = kind}); }
  // Memory in use, without the elements of containers.
  std::int64_t memory() const;
  // Sets an entry as PickleArena::set() says.
  void set_entry(PickleNode& dict, PickleNode* key, PickleNode* entry);
  PickleDictParts& parts_of(PickleNode& dict);
};

// The way of this folder's sources from handles to nodes.
struct PickleAccess {
  static PickleNode* node(const PickleValue& value) { return value.node_; }
  static PickleContents& contents(PickleArena& arena) { return *arena.contents_; }
  static PickleValue value(const PickleContents& contents, PickleNode* node) { return {&contents, node}; }
  // A value of the same arena.
  static PickleValue value_beside(const PickleValue& other, PickleNode* node) { return {other.arena_, node}; }
};

}  // namespace nadi::inline files
