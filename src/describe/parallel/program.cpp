#include "nadi/parallel/program.h"

#include <unordered_set>

namespace nadi::inline describe {

std::int64_t Program::parameter_count() const {
  std::unordered_set<std::string_view> seen;
  std::int64_t count = 0;
  for (const Graph& graph : graphs)
    for (const Tensor& tensor : graph.tensors())
      if (tensor.role == Role::kParameter && seen.insert(tensor.name).second)
        count += tensor.shape.elements();
  return count;
}

}  // namespace nadi::inline describe
