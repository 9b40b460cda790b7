#include "nadi/cpu/head_rows.h"

#include <algorithm>

#include "nadi/cpu/tile_product.h"
#include "nadi/engine/element.h"

namespace nadi::inline engines::cpu {

HeadRows::HeadRows(const Operand& operand, std::int64_t head_width, std::int64_t first_head)
    : data_(operand.data),
      dtype_(operand.dtype()),
      element_size_(size_of(operand.dtype())),
      width_(head_width),
      batch_stride_(operand.strides[0]),
      token_stride_(operand.strides[1]),
      element_stride_(operand.strides[2]) {
  data_ = address({.b = 0, .token = 0, .head = first_head});
}

void HeadRows::convert(const std::byte* source, float* row) const {
  if (element_stride_ == 1) return convert_to_float(source, dtype_, width_, row);
  for (std::int64_t i = 0; i < width_; ++i)
    convert_to_float(source + i * element_stride_ * element_size_, dtype_, 1, row + i);
}

void HeadRows::load(const Place& place, float scale, float* row) const {
  if (plain()) {
    const float* source = in_place(place);
    for (std::int64_t i = 0; i < width_; ++i) row[i] = source[i] * scale;
  } else {
    convert(address(place), row);
    if (scale != 1)
      for (std::int64_t i = 0; i < width_; ++i) row[i] *= scale;
  }
  std::fill(row + width_, row + padded_width(width_), 0.0F);
}

const float* HeadRows::read(const Place& place, float* buffer) const {
  if (plain()) return in_place(place);
  convert(address(place), buffer);
  return buffer;
}

void HeadRows::load_tile(const Place& place, std::int64_t count, float* tile) const {
  for (std::int64_t i = 0; i < count; ++i)
    load({.b = place.b, .token = place.token + i, .head = place.head}, 1, tile + i * tile_stride(width_));
}

void HeadRows::store(const Place& place, float scale, float* row, bool add) const {
  std::byte* target = address(place);
  const auto at = [&](std::int64_t i) { return target + i * element_stride_ * element_size_; };
  if (scale != 1)
    for (std::int64_t i = 0; i < width_; ++i) row[i] *= scale;
  if (add) {
    for (std::int64_t i = 0; i < width_; ++i) {
      float there = 0;
      convert_to_float(at(i), dtype_, 1, &there);
      row[i] += there;
    }
  }
  if (element_stride_ == 1) return convert_from_float(row, width_, target, dtype_);
  for (std::int64_t i = 0; i < width_; ++i) convert_from_float(row + i, 1, at(i), dtype_);
}

}  // namespace nadi::inline engines::cpu
