// Variables by name, with the memory they live in and their first values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/engine/cpu/prefaulted_memory.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/shard.h"

namespace nadi::cpu {

struct FirstValue;

struct Variable {
  Tensor tensor;  // a copy: outlives the graph it came from
  std::byte* data = nullptr;
  bool initialized = false;
  std::vector<std::string> sources = {};  // names that its initializer refers to
};

class VariableStore {
 public:
  // Adds the variables of the graphs that are not there yet, in one piece of memory. The tensors of a bucket
  // (buckets.h) are one after the other in it, and a rank's part of them lies within. It is a bug when a
  // variable is there with another shape or type.
  void add(std::span<const Graph> graphs, const PlaceInGroup& place, int threads);

  Variable* find(std::string_view name);
  const Variable* find(std::string_view name) const;
  std::span<const Variable> all() const { return variables_; }

  void initialize(std::uint64_t seed, const PlaceInGroup& place, int threads);

  Bytes allocated() const { return allocated_; }

 private:
  void write_flat(const Variable& flat, const FirstValue& first, std::byte* target) const;
  void write_source(const Variable& source, const FirstValue& like, std::byte* target) const;

  std::vector<Variable> variables_;  // in the order in which they came
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<PrefaultedMemory> memory_;
  Bytes allocated_;
};

}  // namespace nadi::cpu
