// Writes values as a pickle of protocol 2, which PyTorch reads with weights_only=True as long as there are no
// objects of other classes among them.
//
//   const PickledValue pickled = write_pickle(root);
//   pickled.bytes          // data.pkl, or a file of its own (.metadata)
//   pickled.storages[0]    // named "0" in the pickle
//
// What was read can be written again: objects with their arguments and state, shared and cyclic values,
// tensors that share a storage. Tensors are written as PyTorch does, dictionaries in their order. The same
// values give the same bytes. Nothing recurses.
//
// Error (input) for a tuple or a set that contains itself, which protocol 2 cannot say, and for a class whose
// name has a line break.
#pragma once

#include <string>
#include <vector>

#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline files {

struct PickledValue {
  std::string bytes = {};
  std::vector<const TorchStorage*> storages = {};  // in the order in which they are met
};

PickledValue write_pickle(PickleValue root);

}  // namespace nadi::inline files
