#include "nadi/engine/cpu/variable_store.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/cpu/buckets.h"
#include "nadi/engine/cpu/element.h"
#include "nadi/engine/cpu/first_value.h"
#include "nadi/graph/memory_plan.h"

namespace nadi::cpu {

void VariableStore::add(std::span<const Graph> graphs, const PlaceInGroup& place, int threads) {
  const std::size_t first = variables_.size();
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
    }
  }
  if (variables_.size() == first) return;

  // Offsets by variable: buckets stand where their first tensor would.
  constexpr std::int64_t kNowhere = -1;
  std::vector<std::int64_t> offsets(variables_.size() - first, kNowhere);
  const auto number = [&](const std::string& name) {
    const std::size_t found = by_name_.find(name)->second;
    check(found >= first, format("'{}' was placed before the bucket that it belongs to", name));
    return found - first;
  };
  const std::vector<Bucket> buckets = buckets_of(graphs);
  std::vector<const Bucket*> bucket_of(offsets.size(), nullptr);
  for (const Bucket& bucket : buckets) {
    for (const std::string& name : bucket.tensors) bucket_of[number(name)] = &bucket;
    if (!bucket.part.empty()) bucket_of[number(bucket.part)] = &bucket;
  }
  Bytes size;
  const auto place_bucket = [&](const Bucket& bucket) {
    Bytes end = size;
    for (const std::string& name : bucket.tensors) {
      offsets[number(name)] = end.count();
      end += find(name)->tensor.size();
    }
    if (bucket.part.empty()) return end;
    return size + find(bucket.part)->tensor.size() * bucket.parts;
  };
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Tensor& tensor = variables_[first + i].tensor;
    if (offsets[i] != kNowhere || tensor.shares_memory) continue;
    if (bucket_of[i] != nullptr) {
      size = aligned_size(place_bucket(*bucket_of[i]));
      continue;
    }
    offsets[i] = size.count();
    size += aligned_size(tensor.size());
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Tensor& tensor = variables_[first + i].tensor;
    if (!tensor.shares_memory) continue;
    check(bucket_of[i] != nullptr && tensor.shards.size() == 1,
          format("'{}' shares memory, but with no bucket", tensor.name));
    offsets[i] = offsets[number(bucket_of[i]->tensors.front())] +
                 place(tensor.shards[0].group) * tensor.size().count();
  }
  memory_.emplace_back(size, threads);
  allocated_ += size;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    variables_[first + i].data = memory_.back().data() + offsets[i];
}

Variable* VariableStore::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &variables_[found->second];
}

const Variable* VariableStore::find(std::string_view name) const {
  return const_cast<VariableStore*>(this)->find(name);
}

// A variable's value in fp32: what was loaded, or, for one that gets its first value now, that value before
// it was rounded.
void VariableStore::write_source(const Variable& source, const FirstValue& like, std::byte* target) const {
  if (!source.initialized)
    write_first_value({source.tensor, like.seed, like.place, like.threads}, DType::kF32, target);
  else
    convert_to_float(source.data, source.tensor.dtype, source.tensor.shape.elements(),
                     reinterpret_cast<float*>(target));
}

// A part of other variables, one after the other; of `first`'s tensor type.
void VariableStore::write_flat(const Variable& flat, const FirstValue& first, std::byte* target) const {
  std::vector<float> whole;
  for (const std::string& name : flat.sources) {
    const Variable& source = *find(name);
    const std::size_t start = whole.size();
    whole.resize(start + source.tensor.shape.elements());
    write_source(source, first, reinterpret_cast<std::byte*>(whole.data() + start));
  }
  write_part(first, whole, target);
}

void VariableStore::initialize(std::uint64_t seed, const PlaceInGroup& place, int threads) {
  for (Variable& variable : variables_)
    if (!variable.initialized && variable.sources.empty() && !variable.tensor.shares_memory)
      write_first_value({variable.tensor, seed, place, threads}, variable.tensor.dtype, variable.data);
  for (Variable& variable : variables_) {
    // What lies within other variables has their values.
    if (variable.initialized || variable.sources.empty() || variable.tensor.shares_memory) continue;
    const FirstValue first{variable.tensor, seed, place, threads};
    const bool copy = variable.tensor.initializer.kind == Initializer::Kind::kCopy;
    const Variable& source = copy ? *find(variable.sources.front()) : variable;
    if (source.tensor.initializer.kind == Initializer::Kind::kFlat)
      write_flat(source, first, variable.data);
    else
      write_source(source, first, variable.data);
  }
  for (Variable& variable : variables_) variable.initialized = true;
}

}  // namespace nadi::cpu
