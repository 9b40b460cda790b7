#include "nadi/engine/variable_store.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/engine/element.h"
#include "nadi/engine/first_value.h"
#include "nadi/graph/memory_plan.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kNowhere = -1;
constexpr std::int64_t kScalarBytes = 8;  // of any scalar in the block of scalars

bool is_scalar(const Tensor& tensor) {
  return tensor.role == Role::kMetric && tensor.shape.elements() == 1;
}

}  // namespace

void VariableStore::add(const Program& program, const std::map<std::string, Bytes>& spare) {
  check(memory_ == nullptr, "a program is loaded after memory was laid out");
  for (const Graph& graph : program.graphs) {
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
  add_buckets(buckets_, program.buckets);
  for (const auto& [name, bytes] : spare) spare_[name] = std::max(spare_[name], bytes);
}

void VariableStore::bind(DeviceMemory& memory, const PlaceInGroup& place, int threads) {
  check(memory_ == nullptr, "memory is laid out once");
  memory_ = &memory;
  place_ = place;
  threads_ = threads;
  Layout laid_out = layout(memory.alignment());
  // A rank's part of a bucket lies within.
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Tensor& tensor = variables_[i].tensor;
    if (!tensor.shares_memory) continue;
    const VariableBucket* bucket = laid_out.buckets[i];
    check(bucket != nullptr && tensor.shards.size() == 1,
          format("'{}' shares memory, but with no bucket", tensor.name));
    laid_out.offsets[i] = laid_out.offsets[number(bucket->tensors.front())] +
                          place(tensor.shards[0].group) * tensor.size().count();
  }
  std::byte* const base = memory.allocate(laid_out.size);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    variables_[i].data = base + laid_out.offsets[i];
    if (!is_scalar(variables_[i].tensor)) continue;
    scalar_offsets_.emplace(variables_[i].tensor.name, laid_out.offsets[i]);
    scalar_bytes_ += kScalarBytes;
  }
  scalars_ = base;
}

Bytes VariableStore::size(std::int64_t alignment) const {
  return layout(alignment).size;
}

// Scalars first, then the others; buckets where their first tensor would stand.
VariableStore::Layout VariableStore::layout(std::int64_t alignment) const {
  Layout result;
  std::vector<std::int64_t>& offsets = result.offsets;
  Bytes& size = result.size;
  offsets.assign(variables_.size(), kNowhere);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (!is_scalar(variables_[i].tensor)) continue;
    offsets[i] = size.count();
    size += Bytes{kScalarBytes};
  }
  const auto aligned = [&](Bytes bytes) { return aligned_size(bytes, alignment); };
  const auto spare_of = [&](const std::string& name) {
    const auto found = spare_.find(name);
    return found == spare_.end() ? Bytes{} : found->second;
  };
  size = aligned(size);

  result.buckets.assign(offsets.size(), nullptr);
  for (const VariableBucket& bucket : buckets_) {
    for (const std::string& name : bucket.tensors) result.buckets[number(name)] = &bucket;
    if (!bucket.part.empty()) result.buckets[number(bucket.part)] = &bucket;
  }
  const auto place_bucket = [&](const VariableBucket& bucket) {
    Bytes end = size;
    for (const std::string& name : bucket.tensors) {
      const Tensor& tensor = variables_[number(name)].tensor;
      check(tensor.dtype == variables_[number(bucket.tensors.front())].tensor.dtype,
            format("'{}' has another type than its bucket", name));
      offsets[number(name)] = end.count();
      end += tensor.size();
    }
    end += spare_of(bucket.tensors.back());
    if (bucket.part.empty()) return end;
    return std::max(end, size + variables_[number(bucket.part)].tensor.size() * bucket.parts);
  };
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Tensor& tensor = variables_[i].tensor;
    if (offsets[i] != kNowhere || tensor.shares_memory) continue;
    if (result.buckets[i] != nullptr) {
      size = aligned(place_bucket(*result.buckets[i]));
      continue;
    }
    offsets[i] = size.count();
    size += aligned(tensor.size() + spare_of(tensor.name));
  }
  return result;
}

Variable* VariableStore::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &variables_[found->second];
}

const Variable* VariableStore::find(std::string_view name) const {
  return const_cast<VariableStore*>(this)->find(name);
}

const Variable& VariableStore::at(std::string_view name) const {
  const Variable* variable = find(name);
  if (variable == nullptr) check(false, format("a variable that no program has: '{}'", name));
  return *variable;
}

double VariableStore::scalar(std::string_view name, std::span<const std::byte> copy) const {
  const auto offset = scalar_offsets_.find(name);
  if (offset == scalar_offsets_.end())
    check(false, format("no metric or counter of one element: '{}'", name));
  const auto value = [&](auto zero) {
    std::memcpy(&zero, copy.data() + offset->second, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (at(name).tensor.dtype) {
    case DType::kF32:
      return value(float{});
    case DType::kI32:
      return value(std::int32_t{});
    case DType::kI64:
      return value(std::int64_t{});
    default:
      check(false, "metrics are fp32, counters integers");
  }
  unreachable();
}

// A variable's value in fp32: what was written, or, for one that gets its first value now, that value before
// it was rounded.
void VariableStore::write_source(const Variable& source, const FirstValue& like, std::byte* target) const {
  if (!source.initialized) {
    write_first_value({source.tensor, like.seed, like.place, like.threads}, DType::kF32, target);
    return;
  }
  std::vector<std::byte> copy;
  std::span<const std::byte> bytes = memory_->host_view(source.data, source.tensor.size().count());
  if (bytes.empty()) {
    copy.resize(static_cast<std::size_t>(source.tensor.size().count()));
    memory_->read(source.data, copy);
    bytes = copy;
  }
  convert_to_float(bytes.data(), source.tensor.dtype, source.tensor.shape.elements(),
                   reinterpret_cast<float*>(target));
}

// A part of other variables, one after the other; of `first`'s tensor type.
void VariableStore::write_flat(const Variable& flat, const FirstValue& first, std::byte* target) const {
  std::vector<float> whole;
  for (const std::string& name : flat.sources) {
    const Variable& source = at(name);
    const std::size_t start = whole.size();
    whole.resize(start + source.tensor.shape.elements());
    write_source(source, first, reinterpret_cast<std::byte*>(whole.data() + start));
  }
  write_part(first, whole, target);
}

// The fp32 copy of a variable that has a value, where both are beyond the host: piece by piece, since fresh
// memory of the host for the whole would take longer than the copy.
void VariableStore::copy_through_host(const Variable& source, const Variable& copy) {
  constexpr std::int64_t kPiece = 1 << 20;
  const std::int64_t all = source.tensor.shape.elements(), size = size_of(source.tensor.dtype);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(all, kPiece) * size));
  std::vector<float> wide(static_cast<std::size_t>(std::min(all, kPiece)));
  for (std::int64_t first = 0; first < all; first += kPiece) {
    const std::int64_t count = std::min(kPiece, all - first);
    memory_->read(source.data + first * size, std::span(piece).first(static_cast<std::size_t>(count * size)));
    convert_to_float(piece.data(), source.tensor.dtype, count, wide.data());
    memory_->write(copy.data + first * static_cast<std::int64_t>(sizeof(float)),
                   std::as_bytes(std::span(wide).first(static_cast<std::size_t>(count))));
  }
}

void VariableStore::give_first_value(const Variable& variable, std::uint64_t seed) {
  const std::int64_t size = variable.tensor.size().count();
  const Initializer& initializer = variable.tensor.initializer;
  std::vector<std::byte> copy;
  std::span<std::byte> bytes = memory_->host_view(variable.data, size);
  if (bytes.empty()) {
    // Memory starts as zeros (device_memory.h).
    if (initializer.kind == Initializer::Kind::kConstant && initializer.value == 0) return;
    if (initializer.kind == Initializer::Kind::kCopy && variable.tensor.dtype == DType::kF32) {
      const Variable& source = at(variable.sources.front());
      if (source.initialized && source.tensor.initializer.kind != Initializer::Kind::kFlat) {
        copy_through_host(source, variable);
        return;
      }
    }
    copy.resize(static_cast<std::size_t>(size));
    bytes = copy;
  }
  const FirstValue first{variable.tensor, seed, place_, threads_};
  if (variable.sources.empty()) {
    write_first_value(first, variable.tensor.dtype, bytes.data());
  } else {
    const bool copies = initializer.kind == Initializer::Kind::kCopy;
    const Variable& source = copies ? at(variable.sources.front()) : variable;
    if (source.tensor.initializer.kind == Initializer::Kind::kFlat)
      write_flat(source, first, bytes.data());
    else
      write_source(source, first, bytes.data());
  }
  if (!copy.empty()) memory_->write(variable.data, copy);
}

void VariableStore::initialize(std::uint64_t seed) {
  // What lies within other variables has their values; what is made of others comes after them.
  for (const bool made_of_others : {false, true})
    for (const Variable& variable : variables_)
      if (!variable.initialized && variable.sources.empty() != made_of_others &&
          !variable.tensor.shares_memory)
        give_first_value(variable, seed);
  for (Variable& variable : variables_) variable.initialized = true;
}

}  // namespace nadi::inline engines
