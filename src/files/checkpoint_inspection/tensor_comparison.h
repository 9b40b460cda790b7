// Compares the tensors of two checkpoints, whatever their formats and splits, by name.
//
//   const CheckpointComparison compared = compare_tensors(*a, *b);
//   if (!compared.equal()) print(compared.tensors[0].largest_absolute);
//
// Tensors of different types are compared as numbers, which is exact for all floating-point types. A block of
// each side is in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/checkpoint_inspection/stored_tensors.h"

namespace nadi::inline files {

// A tensor that both have.
struct TensorComparison {
  std::string name;
  FileDType dtype_a{}, dtype_b{};
  Shape shape_a = {}, shape_b = {};
  std::int64_t elements = 0;  // compared; 0 where the shapes differ
  // Elements with other values. NaN on both sides is equal, and so are 0 and -0.
  std::int64_t different = 0;
  // For one element: |a - b|, and |a - b| / max(|a|, |b|). Infinite where only one of both is NaN or infinite,
  // and for complex numbers, of which only bytes are compared.
  double largest_absolute = 0;
  double largest_relative = 0;

  bool same_shape() const { return shape_a == shape_b; }
  bool equal() const { return same_shape() && different == 0; }
};

struct CheckpointComparison {
  std::vector<TensorComparison> tensors = {};         // in the order of the first
  std::vector<std::string> only_a = {}, only_b = {};  // names, in their order
  std::int64_t skipped = 0;                           // training state that was not to be compared

  std::int64_t different_tensors() const;
  std::int64_t different_types() const;
  double largest_absolute() const;
  // Every tensor is on both sides and has the same values; types may differ.
  bool equal() const;
};

struct ComparisonOptions {
  bool optimizer = true;                             // compare optimizer state as well
  std::int64_t block_bytes = std::int64_t{4} << 20;  // read at a time from each side; at least one element
  std::function<void(Bytes done, Bytes total)> progress = {};  // of the first's tensors
};

CheckpointComparison compare_tensors(const StoredTensors& a, const StoredTensors& b,
                                     const ComparisonOptions& options = {});

}  // namespace nadi::inline files
