#include "nadi/torch_file/torch_tensor.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"

namespace nadi {
namespace {

// Copies `count` elements that lie `step` bytes apart.
void gather_elements(const std::byte* from, std::int64_t step, std::byte* to, std::int64_t count,
                     std::size_t width) {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * width, from + i * step, width);
}

// Elements of complex types are two numbers.
std::size_t number_width(FileDType dtype) {
  const auto width = static_cast<std::size_t>(size_of(dtype));
  return dtype == FileDType::kC64 || dtype == FileDType::kC128 ? width / 2 : width;
}

void swap_bytes(std::span<std::byte> numbers, std::size_t width) {
  for (std::size_t at = 0; at + width <= numbers.size(); at += width)
    std::reverse(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                 numbers.begin() + static_cast<std::ptrdiff_t>(at + width));
}

}  // namespace

std::array<std::int64_t, Shape::kMaxRank> contiguous_strides(const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

std::int64_t TorchTensor::rows() const {
  return shape.rank() == 0 ? 1 : shape[0];
}

std::int64_t TorchTensor::columns() const {
  return shape.rank() == 0 ? 1 : shape.elements(1, shape.rank());
}

// The stride of an axis of one element does not matter, and none of a tensor without elements does.
bool TorchTensor::is_contiguous() const {
  if (shape.elements() == 0) return true;
  std::int64_t expected = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[static_cast<std::size_t>(axis)] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

std::optional<std::span<const std::byte>> TorchTensor::view() const {
  if (shape.elements() == 0) return std::span<const std::byte>();
  if (storage->big_endian || !is_contiguous()) return std::nullopt;
  return storage->bytes.subspan(static_cast<std::size_t>(offset * size_of(dtype)),
                                static_cast<std::size_t>(size()));
}

void TorchTensor::read(std::span<std::byte> out) const {
  read_block({.rows = rows(), .columns = columns()}, out);
}

// Walks the axes of a block row by row: a line of the innermost axis at a time.
void TorchTensor::read_block(const MatrixBlock& block, std::span<std::byte> out) const {
  check(block.first_row >= 0 && block.rows >= 0 && block.first_row <= rows() - block.rows &&
            block.first_column >= 0 && block.columns >= 0 && block.first_column <= columns() - block.columns,
        "a block lies outside its tensor");
  const auto width = static_cast<std::size_t>(size_of(dtype));
  check(out.size() == static_cast<std::size_t>(block.rows * block.columns) * width,
        "a block is read into memory of another size");
  if (out.empty()) return;
  const auto step = static_cast<std::int64_t>(width);
  const int rank = shape.rank();
  // Of a vector the rows are the elements; of anything else a line lies within a row.
  const bool is_vector = rank == 1;
  const std::int64_t line = rank == 0 ? 1 : shape[-1];
  const std::int64_t line_stride = rank == 0 ? 1 : strides[static_cast<std::size_t>(rank - 1)];
  const auto copy_line = [&](std::int64_t element, std::int64_t count) {
    const std::byte* const from = storage->bytes.data() + element * step;
    if (line_stride == 1 || count == 1) {
      std::memcpy(out.data(), from, static_cast<std::size_t>(count) * width);
    } else {
      gather_elements(from, line_stride * step, out.data(), count, width);
    }
    if (storage->big_endian)
      swap_bytes(out.first(static_cast<std::size_t>(count) * width), number_width(dtype));
    out = out.subspan(static_cast<std::size_t>(count) * width);
  };
  if (is_vector) return copy_line(offset + block.first_row * line_stride, block.rows);
  const bool rows_are_lines = is_contiguous() && line_stride == 1;
  if (rows_are_lines && block.columns == columns())
    return copy_line(offset + block.first_row * block.columns, block.rows * block.columns);
  for (std::int64_t row = block.first_row; row < block.first_row + block.rows; ++row) {
    const std::int64_t row_start = offset + (rank == 0 ? 0 : row * strides[0]);
    if (rows_are_lines) {
      copy_line(row_start + block.first_column, block.columns);
      continue;
    }
    for (std::int64_t column = block.first_column; column < block.first_column + block.columns;) {
      std::int64_t element = row_start;
      std::int64_t rest = column;
      for (int axis = rank; axis-- > 1;) {
        element += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
        rest /= shape[axis];
      }
      const std::int64_t in_line = column % line;
      const std::int64_t count = std::min(line - in_line, block.first_column + block.columns - column);
      copy_line(element, count);
      column += count;
    }
  }
}

}  // namespace nadi
