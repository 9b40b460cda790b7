#include "nadi/engine/cpu/variable_store.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/cpu/element.h"
#include "nadi/engine/cpu/first_value.h"
#include "nadi/graph/memory_plan.h"

namespace nadi::cpu {
namespace {

// A variable's value in fp32: what was loaded, or, for one that gets its first value now, that value before
// it was rounded.
void write_source(const Variable& source, const FirstValue& like, std::byte* target) {
  if (!source.initialized)
    write_first_value({source.tensor, like.seed, like.place, like.threads}, DType::kF32, target);
  else
    convert_to_float(source.data, source.tensor.dtype, source.tensor.shape.elements(),
                     reinterpret_cast<float*>(target));
}

}  // namespace

void VariableStore::add(std::span<const Graph> graphs, int threads) {
  const std::size_t first = variables_.size();
  Bytes size;
  std::vector<Bytes> offsets;
  for (const Graph& graph : graphs) {
    for (const Tensor& tensor : graph.tensors()) {
      if (!tensor.variable) continue;
      if (const Variable* known = find(tensor.name)) {
        check(known->tensor.shape == tensor.shape && known->tensor.dtype == tensor.dtype,
              format("variable '{}' is {} {} in one program and {} {} in another", tensor.name,
                     to_string(known->tensor.dtype), known->tensor.shape.to_string(), to_string(tensor.dtype),
                     tensor.shape.to_string()));
        continue;
      }
      by_name_.emplace(tensor.name, variables_.size());
      Variable& variable = variables_.emplace_back(Variable{.tensor = tensor});
      if (tensor.initializer.source != kNoTensor)
        variable.sources.push_back(graph.tensor(tensor.initializer.source).name);
      for (const TensorId source : tensor.initializer.sources)
        variable.sources.push_back(graph.tensor(source).name);
      offsets.push_back(size);
      size += aligned_size(tensor.size());
    }
  }
  if (variables_.size() == first) return;
  memory_.emplace_back(size, threads);
  allocated_ += size;
  for (std::size_t i = first; i < variables_.size(); ++i)
    variables_[i].data = memory_.back().data() + offsets[i - first].count();
}

Variable* VariableStore::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &variables_[found->second];
}

const Variable* VariableStore::find(std::string_view name) const {
  return const_cast<VariableStore*>(this)->find(name);
}

void VariableStore::initialize(std::uint64_t seed, const PlaceInGroup& place, int threads) {
  for (Variable& variable : variables_)
    if (!variable.initialized && variable.sources.empty())
      write_first_value({variable.tensor, seed, place, threads}, variable.tensor.dtype, variable.data);
  for (Variable& variable : variables_) {
    if (variable.initialized || variable.sources.empty()) continue;
    const FirstValue first{variable.tensor, seed, place, threads};
    if (variable.tensor.initializer.kind == Initializer::Kind::kCopy) {
      write_source(*find(variable.sources.front()), first, variable.data);
      continue;
    }
    std::vector<float> whole;
    for (const std::string& name : variable.sources) {
      const Variable& source = *find(name);
      const std::size_t start = whole.size();
      whole.resize(start + source.tensor.shape.elements());
      write_source(source, first, reinterpret_cast<std::byte*>(whole.data() + start));
    }
    write_part(first, whole, variable.data);
  }
  for (Variable& variable : variables_) variable.initialized = true;
}

}  // namespace nadi::cpu
