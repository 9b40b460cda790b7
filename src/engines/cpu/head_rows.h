// The heads of a tensor [B, tokens, heads * D] in memory, row by row: from any strides and element type to
// fp32 tiles (tile_product.h), and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nadi/cpu/kernel.h"
#include "nadi/cpu/row_prefetch.h"

namespace nadi::inline engines::cpu {

class HeadRows {
 public:
  HeadRows() = default;
  // `first_head`: where these heads begin, when several tensors are packed in one.
  HeadRows(const Operand& operand, std::int64_t head_width, std::int64_t first_head = 0);

  struct Place {
    std::int64_t b, token, head;
  };

  // D elements times `scale`, then zeros up to padded_width(D).
  void load(const Place& place, float scale, float* row) const;
  // The D elements where they are, or converted into `buffer`.
  const float* read(const Place& place, float* buffer) const;
  // `count` tokens from `place` on, as rows of a tile.
  void load_tile(const Place& place, std::int64_t count, float* tile) const;
  // D elements times `scale`, added to what is there if `add`. Uses `row` up.
  void store(const Place& place, float scale, float* row, bool add) const;

  // Memory of `tokens` tokens from `place` on and `heads` heads, for prefetching.
  RowSpan span_of(const Place& place, std::int64_t tokens, std::int64_t heads = 1) const {
    return {.first = address(place),
            .stride = token_stride_ * element_size_,
            .size = heads * width_ * element_stride_ * element_size_,
            .rows = tokens};
  }

  // Whether rows are fp32 without gaps: they can be read where they are, `token_stride` apart.
  bool plain() const { return dtype_ == DType::kF32 && element_stride_ == 1; }
  const float* in_place(const Place& place) const { return reinterpret_cast<const float*>(address(place)); }
  std::int64_t token_stride() const { return token_stride_; }

 private:
  std::byte* address(const Place& place) const {
    return data_ +
           (place.b * batch_stride_ + place.token * token_stride_ + place.head * width_ * element_stride_) *
               element_size_;
  }
  void convert(const std::byte* source, float* row) const;

  std::byte* data_ = nullptr;  // of the first head
  DType dtype_ = DType::kF32;
  std::int64_t element_size_ = 0;
  std::int64_t width_ = 0;  // D
  std::int64_t batch_stride_ = 0;
  std::int64_t token_stride_ = 0;
  std::int64_t element_stride_ = 1;
};

}  // namespace nadi::inline engines::cpu
