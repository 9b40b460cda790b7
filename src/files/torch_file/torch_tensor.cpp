#include "nadi/torch_file/torch_tensor.h"

#include <algorithm>
#include <cstring>

#include "nadi/base/error.h"

namespace nadi::inline files {
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
  read_elements(0, shape.elements(), out);
}

// Where an element lies in the storage, by its number in row order.
std::int64_t TorchTensor::place_of(std::int64_t element) const {
  std::int64_t place = offset;
  for (int axis = shape.rank(); axis-- > 0; element /= shape[axis])
    place += element % shape[axis] * strides[static_cast<std::size_t>(axis)];
  return place;
}

// A line of the innermost axis at a time; a contiguous tensor is one line.
void TorchTensor::read_elements(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  const std::int64_t elements = shape.elements();
  check(first >= 0 && count >= 0 && first <= elements - count, "elements lie outside their tensor");
  const auto width = static_cast<std::size_t>(size_of(dtype));
  check(out.size() == static_cast<std::size_t>(count) * width,
        "elements are read into memory of another size");
  const bool is_one_line = is_contiguous();
  const std::int64_t line = is_one_line ? elements : shape[-1];
  const std::int64_t stride = is_one_line ? 1 : strides[static_cast<std::size_t>(shape.rank() - 1)];
  while (count > 0) {
    const std::int64_t in_line = std::min(line - first % line, count);
    const std::byte* const from = storage->bytes.data() + (is_one_line ? offset + first : place_of(first)) *
                                                              static_cast<std::int64_t>(width);
    const auto to = out.first(static_cast<std::size_t>(in_line) * width);
    if (stride == 1) {
      std::memcpy(to.data(), from, to.size());
    } else {
      gather_elements(from, stride * static_cast<std::int64_t>(width), to.data(), in_line, width);
    }
    if (storage->big_endian) swap_bytes(to, number_width(dtype));
    out = out.subspan(to.size());
    first += in_line;
    count -= in_line;
  }
}

void TorchTensor::read_block(const MatrixBlock& block, std::span<std::byte> out) const {
  check(block.first_row >= 0 && block.rows >= 0 && block.first_row <= rows() - block.rows &&
            block.first_column >= 0 && block.columns >= 0 && block.first_column <= columns() - block.columns,
        "a block lies outside its tensor");
  const auto row_bytes = static_cast<std::size_t>(block.columns * size_of(dtype));
  check(out.size() == static_cast<std::size_t>(block.rows) * row_bytes,
        "a block is read into memory of another size");
  if (block.columns == columns())
    return read_elements(block.first_row * block.columns, block.rows * block.columns, out);
  for (std::int64_t row = 0; row < block.rows; ++row, out = out.subspan(row_bytes))
    read_elements((block.first_row + row) * columns() + block.first_column, block.columns,
                  out.first(row_bytes));
}

}  // namespace nadi::inline files
