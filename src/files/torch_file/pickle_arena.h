// Owns the values of a pickle (pickle_value.h), read or made:
//
//   PickleArena values;
//   const PickleValue root = values.dict();
//   values.set(root, "checkpoint_version", values.real(3.0));
//   values.set(root, "args", args_of_another_file);          // values may stand in several arenas'
//   containers TorchStorage& storage = values.storage(FileDType::kF32, 50257 * 768); values.set(root,
//   "wte.weight", values.tensor({.storage = &storage, .shape = {50257, 768}})); const TorchLayout
//   layout(root);                          // torch_writer.h
//
// A value of another arena, put into a container of this one, is not copied: both arenas must live. Values go
// all at once with their arena, so that destruction does not recurse. Moving an arena keeps its values valid.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline files {

// A class or function of Python: {"argparse", "Namespace"}.
struct PickleClass {
  std::string_view module;
  std::string_view name;
};

class PickleArena {
 public:
  // `file` is for messages.
  explicit PickleArena(std::string file = "");
  PickleArena(PickleArena&&) noexcept;
  PickleArena& operator=(PickleArena&&) noexcept;
  ~PickleArena();

  const std::string& file() const;

  PickleValue none();
  PickleValue boolean(bool value);
  PickleValue integer(std::int64_t value);
  PickleValue big_integer(
      std::string_view little_endian);  // two's complement; becomes an integer() if it fits
  PickleValue real(double value);
  PickleValue text(std::string_view value);
  PickleValue bytes(std::string_view value);

  PickleValue list(std::span<const PickleValue> elements = {});
  PickleValue tuple(std::span<const PickleValue> elements = {});
  PickleValue tuple(std::initializer_list<PickleValue> elements);
  PickleValue size(std::span<const std::int64_t> extents);
  PickleValue set_of(std::span<const PickleValue> elements = {}, bool frozen = false);
  PickleValue dict();
  PickleValue ordered_dict();
  PickleValue counter();

  PickleValue dtype(FileDType dtype);
  PickleValue device(std::string_view device);
  PickleValue global(const PickleClass& type);
  // Called with the arguments, a tuple.
  PickleValue object(const PickleClass& type, PickleValue arguments);
  // Made without a call (__new__), as argparse.Namespace is; named arguments are a dictionary.
  PickleValue new_object(const PickleClass& type, PickleValue arguments,
                         std::optional<PickleValue> named_arguments = {});

  // Storages stay where they are.
  TorchStorage& storage(FileDType dtype, std::int64_t elements);
  TorchStorage& untyped_storage(std::int64_t bytes);
  PickleValue storage_value(const TorchStorage& storage);
  // Strides of all zeros, of a tensor with elements, become those of a contiguous one.
  PickleValue tensor(TorchTensor tensor);

  // Appends to a list or to an object derived from one.
  void append(PickleValue list, PickleValue element);
  // Adds to a set.
  void add(PickleValue set, PickleValue element);
  // Sets an entry of a dictionary, or of an object derived from one. A key that is there keeps its place and
  // gets the new value, where it is a text or a whole number; any other is appended.
  void set(PickleValue dict, PickleValue key, PickleValue value);
  void set(PickleValue dict, std::string_view key, PickleValue value);
  // What is set after the making, of an object, a dictionary or a tensor.
  void set_state(PickleValue target, PickleValue state);
  // Attributes of an object whose state is a dictionary of this arena: made if there is none.
  void set_attribute(PickleValue object, std::string_view name, PickleValue value);

  // Where paths of messages start.
  void set_root(PickleValue root);
  PickleValue root() const;

  // All storages, in the order of their making.
  std::size_t storages() const;
  TorchStorage& storage_at(std::size_t index);

 private:
  friend struct PickleAccess;
  PickleValue value_of(PickleNode* node) const;
  std::unique_ptr<PickleContents> contents_;
};

}  // namespace nadi::inline files
