#include "nadi/megatron_checkpoint/optimizer_layout.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
std::vector<OptimizerGroup> optimizer_groups(std::span<const ShardTensor> parameters) {
  std::vector<OptimizerGroup> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool decays = parameters[i].shape.rank() > 1 && !parameters[i].name.ends_with(".bias");
    OptimizerGroup* group = nullptr;
    for (OptimizerGroup& candidate : groups)
      if (candidate.decays == decays) group = &candidate;
    if (group == nullptr) group = &groups.emplace_back(OptimizerGroup{.decays = decays});
    group->parameters.push_back(i);
  }
  return groups;
}

FlatBuffer flat_buffer(std::span<const ShardTensor> parameters, const BucketRules& rules) {
  std::vector<FlatParameter> flat;
  for (const ShardTensor& parameter : parameters)
    flat.push_back({parameter.shape.elements(), parameter.name == rules.shared_embedding});
  FlatBuffer buffer = flat_buffer(flat, rules.flat);
  if (buffer.lost != 0)
    throw Error(ErrorKind::kInfeasible, {},
                format("Megatron's distributed optimizer loses the first {} elements of '{}' of such a model",
                       buffer.lost, rules.shared_embedding),
                "its parameters must have multiples of 128 elements, or use the plain optimizer");
  return buffer;
}

}  // namespace nadi::inline files
