// The tensors that a node of a trace lists (IoInfo: three texts), as a list.
//
//   for (const ListedTensor& tensor : listed_tensors(trace.inputs(row))) use(tensor.name, tensor.shape);
//
// Two spellings are read: ours, [["name", bytes], ...], and PyTorch's, [[id, storage, offset, elements,
// element size, 'device'], 3, ...], where what is no tensor is passed over and lists of tensors are taken one
// by one. A text that is neither gives no tensors: what is in these texts is up to who wrote the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/trace/trace_node.h"

namespace nadi::inline show {

struct ListedTensor {
  std::string name = {};   // ours by name; PyTorch's: "tensor 17"
  std::string shape = {};  // "1×128×768"; "" for a scalar and where it is not known
  std::string dtype = {};
  std::optional<std::int64_t> bytes = {};
};

std::vector<ListedTensor> listed_tensors(const IoInfo& io);

}  // namespace nadi::inline show
