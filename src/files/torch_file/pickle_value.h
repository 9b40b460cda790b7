// A value of a Python pickle, of a torch.save file for instance. Nothing of a pickle is ever called: classes
// that Nadi knows (dictionaries, tensors, sizes, dtypes, devices) are kinds of value, and any other is an
// object that is only described: its class, the arguments it was made with, its state.
//
//   const TorchFile file("model_optim_rng.pt", {.unknown_classes = UnknownClasses::kKeep});
//   const PickleValue root = file.root();
//   const std::int64_t layers = root.at("args").at("num_layers").as_int64();    // of a Namespace: its state
//   for (const auto& [name, value] : root.at("model").items())
//     if (value.is_tensor()) use(name.as_text(), value.as_tensor());
//   if (const auto scheduler = root.find("opt_param_scheduler")) ...
//
// A handle into a PickleArena (pickle_arena.h) or an open file, which must outlive it: pass it by value. The
// same object may be reached by several paths (a pickle shares objects, and may even be cyclic): code that
// goes through all values goes by id(). Nothing here recurses.
//
// Whatever is missing or of another kind is Error (input) that names the file and the path of the value:
// "model_optim_rng.pt: args/num_layers is a text, not a whole number".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/graph/file_dtype.h"
#include "nadi/torch_file/torch_tensor.h"

namespace nadi::inline files {

class PickleArena;
struct PickleContents;
struct PickleItem;
struct PickleNode;

enum class PickleKind : std::uint8_t {
  kNone,
  kBool,
  kInt,  // of any size
  kFloat,
  kText,
  kBytes,
  kList,
  kTuple,
  kSize,  // torch.Size: a tuple of whole numbers
  kDict,  // dict, OrderedDict, Counter: in the order of insertion
  kSet,   // set, frozenset
  kDType,
  kDevice,
  kStorage,  // by itself, not as part of a tensor
  kTensor,   // Tensor, Parameter
  kGlobal,   // a class or function, not called
  kObject,   // anything else
};

std::string_view name_of(PickleKind kind);  // with its article: "a text", "a whole number", "a dictionary"

class PickleValue {
 public:
  PickleKind kind() const;
  bool is_none() const { return kind() == PickleKind::kNone; }
  bool is_bool() const { return kind() == PickleKind::kBool; }
  bool is_int() const { return kind() == PickleKind::kInt; }
  bool is_float() const { return kind() == PickleKind::kFloat; }
  bool is_text() const { return kind() == PickleKind::kText; }
  bool is_bytes() const { return kind() == PickleKind::kBytes; }
  bool is_sequence() const;  // list, tuple or size
  bool is_dict() const { return kind() == PickleKind::kDict; }
  bool is_dtype() const { return kind() == PickleKind::kDType; }
  bool is_tensor() const { return kind() == PickleKind::kTensor; }
  bool is_object() const { return kind() == PickleKind::kObject; }
  // An object or a global of this class: is_a("argparse.Namespace").
  bool is_a(std::string_view class_name) const;

  // Entries of a dictionary; of an object, its attributes (the dictionary that its state is). find() gives
  // nothing for a missing key, at() an Error with the nearest key. Keys that are neither text nor whole
  // number (tuples, objects) are met with items() only.
  bool has(std::string_view key) const { return find(key).has_value(); }
  std::optional<PickleValue> find(std::string_view key) const;
  std::optional<PickleValue> find(std::int64_t key) const;
  PickleValue at(std::string_view key) const;
  PickleValue at_key(std::int64_t key) const;
  std::vector<PickleItem> items() const;  // in order

  // Elements of a list, tuple, size or set.
  std::vector<PickleValue> elements() const;
  PickleValue element(std::size_t index) const;

  // Entries or elements of any of the above.
  std::size_t size() const;

  // The value, if it has the kind. as_double() takes whole numbers, too; as_bytes() texts, too (strings of
  // Python 2). as_int64() refuses numbers of more than 64 bits, big_int() has their bytes: two's complement,
  // little-endian, as Python writes them.
  bool as_bool() const;
  std::int64_t as_int64() const;
  std::string_view big_int() const;  // "" for a number that fits 64 bits
  double as_double() const;
  std::string_view as_text() const;
  std::string_view as_bytes() const;
  FileDType as_dtype() const;
  std::string_view as_device() const;           // "cuda:0"
  std::vector<std::int64_t> as_int64s() const;  // of a list, tuple or size of whole numbers
  const TorchTensor& as_tensor() const;
  const TorchStorage& as_storage() const;

  // For objects and globals: "argparse" and "Namespace". Of dictionaries and sets, too: "collections" and
  // "OrderedDict", "builtins" and "dict".
  std::string_view module() const;
  std::string_view class_name() const;
  std::string full_class_name() const;  // "argparse.Namespace"

  // For an object: a tuple with what the class was called with, and named arguments (nothing means none).
  PickleValue arguments() const;
  std::optional<PickleValue> named_arguments() const;
  // Whether the object came into being without a call of its class (__new__), as most do.
  bool is_made_by_new() const;
  // What was set afterwards (__setstate__ or the attributes), of an object, a dictionary (OrderedDict with
  // _metadata: {"_metadata": ...}) or a tensor.
  std::optional<PickleValue> state() const;
  // For an object derived from dict or list, as defaultdict is: its entries as a dictionary, its elements as a
  // list.
  std::optional<PickleValue> object_entries() const;
  std::optional<PickleValue> object_elements() const;

  // "model/decoder.final_layernorm.weight": how the value is reached from the root, for messages; "" for the
  // root itself and for values of an arena without a root.
  std::string path() const;
  const std::string& file() const;

  // The same for all handles of one object.
  const void* id() const { return node_; }

 private:
  friend class PickleArena;
  friend struct PickleAccess;
  friend Error error_at(const PickleValue&, std::string, std::string);
  PickleValue(const PickleContents* arena, PickleNode* node, PickleNode* parent = nullptr,
              std::size_t index = 0)
      : arena_(arena), node_(node), parent_(parent), index_(index) {}
  PickleValue child(PickleNode* node, std::size_t index) const { return {arena_, node, node_, index}; }
  const PickleNode& entries() const;
  const PickleNode& sequence() const;
  void expect(PickleKind kind) const;
  Error wrong_kind(std::string_view wanted) const;

  const PickleContents* arena_;
  PickleNode* node_;
  PickleNode* parent_;  // nullptr means none is known
  std::size_t index_;   // in the parent's list of values
};

struct PickleItem {
  PickleValue key;
  PickleValue value;
};

// A mistake that only the caller can see: "FILE: PATH: message".
Error error_at(const PickleValue& value, std::string message, std::string hint = "");

}  // namespace nadi::inline files
