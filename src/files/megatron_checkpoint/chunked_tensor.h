// One tensor whose elements lie in several chunks, as torch_dist folders have them: boxes of the tensor, each
// contiguous in memory that is mapped.
//
//   ChunkedTensor tensor(Shape{4, 128, 64}, /*element_size=*/2);
//   tensor.add({.offsets = {1, 64, 0}, .sizes = {1, 64, 64}}, mapped);        // for every chunk
//   tensor.settle("decoder.layers.self_attention.linear_qkv.weight", file);    // every element, once
//   tensor.read(first, count, out);                                           // elements in row-major order
//
// A distributed optimizer cuts tensors otherwise: a tensor [X, Y] of which every rank has a part [x, y] is
// stored as [X / x, Y / y, x * y], and chunks are ranges of the last axis, which begin and end within rows
// (add_flattened()).
//
// Reading changes nothing and may be done by several threads at once, after settle().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/graph/shape.h"

namespace nadi::inline files {

struct TensorBox {
  Shape offsets = {};
  Shape sizes = {};  // none of them 0
};

class ChunkedTensor {
 public:
  ChunkedTensor(const Shape& shape, std::int64_t element_size);

  const Shape& shape() const { return shape_; }

  // The box lies within the tensor, and `data` has its elements in row-major order. Both outlive the tensor.
  void add(const TensorBox& box, std::span<const std::byte> data);
  // Elements [first, first + count) of the part [local] at `offsets`, in the row-major order of that part.
  struct FlatRange {
    Shape offsets = {};
    Shape local = {};
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  void add_flattened(const FlatRange& range, std::span<const std::byte> data);

  // After all were added. Error (input) at `file` when chunks overlap, or elements are in none of them.
  void settle(const std::string& name, const std::string& file);

  // A part that follows itself in memory. The tensor as a matrix: the last axis are the columns.
  struct Region {
    std::int64_t row = 0, rows = 0;
    std::int64_t column = 0, columns = 0;
    const std::byte* data = nullptr;
  };
  // All of them, each element in one.
  std::span<const Region> regions() const { return regions_; }

  // Elements [first, first + count) of the whole tensor in row-major order.
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const;
  // The same without a copy, where they follow each other in memory.
  std::optional<std::span<const std::byte>> view(std::int64_t first, std::int64_t count) const;

 private:
  void add_region(const Region& region);
  // The region that has an element, and how many elements from it on follow each other there.
  struct Place {
    const std::byte* data = nullptr;
    std::int64_t count = 0;
  };
  Place place_of(std::int64_t element) const;

  Shape shape_;
  std::int64_t element_size_;
  std::int64_t rows_ = 1, columns_ = 1;
  std::vector<Region> regions_;
  // After settle(): rows from which on other regions make up a row, and those regions by column.
  struct Band {
    std::int64_t row = 0;
    std::vector<std::size_t> regions = {};
  };
  std::vector<Band> bands_;
};

}  // namespace nadi::inline files
