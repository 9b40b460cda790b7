// What the calls of a pickle amount to, for the sources of this folder: a tensor is built from the arguments
// of torch._utils._rebuild_tensor_v2, a set from a list; any other call is an opaque object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/torch_file/pickle_node.h"
#include "nadi/torch_file/torch_globals.h"

namespace nadi::inline files {

// Where a machine stands in its pickle, for messages.
struct PicklePosition {
  std::string file;
  std::int64_t byte = 0;

  Error error(std::string message, std::string hint = "") const {
    return input_error({.file = file, .byte = byte}, std::move(message), std::move(hint));
  }
};

class TorchCalls {
 public:
  // `copies`: how many elements and bytes may be copied out of arguments, which a pickle may name again and
  // again. `position` and the arena must live as long.
  TorchCalls(PickleArena& arena, const PicklePosition& position, std::int64_t copies);

  // REDUCE. `function` is a global, `arguments` a tuple.
  PickleNode* call(const PickleNode& function, PickleNode* arguments);
  // NEWOBJ and NEWOBJ_EX; `named` may be nullptr.
  PickleNode* make_new(const PickleNode& type, PickleNode* arguments, PickleNode* named);
  // A storage, from ('storage', torch.FloatStorage, '0', 'cpu', 4).
  PickleNode* storage(const PickleNode& persistent_id);

 private:
  PickleNode* opaque(const PickleNode& type, PickleNode* arguments, PickleNode* named, bool made_by_new);
  PickleNode* dictionary(TorchGlobal kind, const PickleNode& arguments);
  PickleNode* elements_of(PickleKind kind, const PickleNode& arguments);
  PickleNode* encode(const PickleNode& arguments);
  PickleNode* device(const PickleNode& arguments);
  PickleNode* tensor(TorchGlobal kind, const PickleNode& function, PickleNode* arguments);
  PickleNode* parameter(TorchGlobal kind, const PickleNode& arguments);
  PickleNode* from_type(const PickleNode& function, PickleNode* arguments);
  void read_geometry(const std::vector<PickleNode*>& arguments, TorchTensor& tensor) const;
  void check_bounds(const TorchTensor& tensor) const;
  std::int64_t integer(const PickleNode& node, std::string_view what) const;
  std::string_view text(const PickleNode& node, std::string_view what) const;
  void spend(std::size_t copies);

  PickleContents& contents_;
  const PicklePosition& position_;
  std::int64_t copies_left_;
  std::unordered_map<std::string, TorchStorage*> storages_;
};

}  // namespace nadi::inline files
