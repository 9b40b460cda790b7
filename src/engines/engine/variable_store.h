// Variables by name, the memory they have on a device, and their first values.
//
//   VariableStore store;
//   store.add(program);                              // of every program
//   store.bind(memory, place, threads);              // lays them out, once
//   store.initialize(seed);
//
// In memory the tensors of a bucket (parallel/variable_buckets.h) are one after the other, and a rank's part
// of them lies within. Metrics and counters of one element are one block, so that one copy brings all of them
// to the host.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/engine/device_memory.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/shard.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines {

struct FirstValue;

struct Variable {
  Tensor tensor;
  std::byte* data = nullptr;
  bool initialized = false;
  std::vector<std::string> sources = {};  // names that its initializer refers to
};

class VariableStore {
 public:
  // It is a bug when a variable is there with another shape or type.
  // `spare`: see KernelPlan. Of variables in a bucket only the last one can have any.
  void add(const Program& program, const std::map<std::string, Bytes>& spare = {});

  // What they take with places at multiples of `alignment`.
  Bytes size(std::int64_t alignment) const;

  // `memory` must outlive this. `place` may be empty where no variable is part of a whole.
  void bind(DeviceMemory& memory, const PlaceInGroup& place, int threads);

  Variable* find(std::string_view name);
  const Variable* find(std::string_view name) const;
  const Variable& at(std::string_view name) const;  // it is a bug when there is none
  std::span<const Variable> all() const { return variables_; }

  void initialize(std::uint64_t seed);

  // The block of scalars: where it is, and a scalar in a copy of it.
  const std::byte* scalars() const { return scalars_; }
  std::int64_t scalar_bytes() const { return scalar_bytes_; }
  double scalar(std::string_view name, std::span<const std::byte> copy) const;

 private:
  struct Layout {
    std::vector<std::int64_t> offsets;           // in bytes, by variable
    std::vector<const VariableBucket*> buckets;  // by variable; nullptr means in none
    Bytes size;
  };
  Layout layout(std::int64_t alignment) const;
  std::size_t number(const std::string& name) const { return by_name_.find(name)->second; }
  void give_first_value(const Variable& variable, std::uint64_t seed);
  void copy_through_host(const Variable& source, const Variable& copy);
  void write_flat(const Variable& flat, const FirstValue& first, std::byte* target) const;
  void write_source(const Variable& source, const FirstValue& like, std::byte* target) const;

  std::vector<Variable> variables_;  // in the order in which they came
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<VariableBucket> buckets_;
  std::map<std::string, Bytes> spare_;
  std::map<std::string, std::int64_t, std::less<>> scalar_offsets_;
  std::int64_t scalar_bytes_ = 0;
  const std::byte* scalars_ = nullptr;
  DeviceMemory* memory_ = nullptr;
  PlaceInGroup place_;
  int threads_ = 1;
};

}  // namespace nadi::inline engines
