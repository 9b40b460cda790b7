#include "nadi/checkpoint_conversion/block_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/checkpoint/element_conversion.h"

namespace nadi::inline files {
namespace {

std::optional<DType> graph_type(FileDType dtype) {
  for (const DType candidate : {DType::kF32, DType::kBF16, DType::kF16})
    if (file_dtype(candidate) == dtype) return candidate;
  return std::nullopt;
}

template <typename T>
void transpose_tiles(const std::byte* in, std::int64_t rows, std::int64_t columns, std::byte* out) {
  constexpr std::int64_t kTile = 64;
  for (std::int64_t top = 0; top < rows; top += kTile)
    for (std::int64_t left = 0; left < columns; left += kTile) {
      const std::int64_t bottom = std::min(top + kTile, rows);
      const std::int64_t right = std::min(left + kTile, columns);
      for (std::int64_t column = left; column < right; ++column)
        for (std::int64_t row = top; row < bottom; ++row) {
          T value;  // neither side need be aligned
          std::memcpy(&value, in + (row * columns + column) * static_cast<std::int64_t>(sizeof(T)),
                      sizeof(T));
          std::memcpy(out + (column * rows + row) * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
        }
    }
}

// One output row, or a part of one, of a block: `row` and `column` count as the target has them.
ShardBlock part_of(const ShardBlock& block, std::int64_t row, std::int64_t rows, std::int64_t column,
                   std::int64_t columns) {
  ShardBlock part = block;
  if (block.transposed) {
    part.block = {.row = block.block.row + column,
                  .rows = columns,
                  .column = block.block.column + row,
                  .columns = rows};
  } else {
    part.block = {.row = block.block.row + row,
                  .rows = rows,
                  .column = block.block.column + column,
                  .columns = columns};
  }
  return part;
}

}  // namespace

std::vector<ShardBlock> parts_of(const ShardBlock& block, std::int64_t limit) {
  check(limit > 0, "a part of a block has at least one element");
  std::vector<ShardBlock> parts;
  const std::int64_t rows = block.transposed ? block.block.columns : block.block.rows;
  const std::int64_t columns = block.transposed ? block.block.rows : block.block.columns;
  if (block.elements() == 0) return parts;
  if (block.padding > 0) {
    // Copies of one row; a row is never longer than memory allows.
    const std::int64_t at_once = std::max<std::int64_t>(1, limit / columns);
    for (std::int64_t done = 0; done < block.padding; done += at_once) {
      parts.push_back(block);
      parts.back().padding = std::min(at_once, block.padding - done);
    }
  } else if (columns <= limit) {
    const std::int64_t at_once = limit / columns;
    for (std::int64_t row = 0; row < rows; row += at_once)
      parts.push_back(part_of(block, row, std::min(at_once, rows - row), 0, columns));
  } else {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; column += limit)
        parts.push_back(part_of(block, row, 1, column, std::min(limit, columns - column)));
  }
  return parts;
}

bool can_convert(FileDType from, FileDType to) {
  if (from == to) return true;
  const std::optional<DType> wanted = graph_type(to);
  return wanted && can_convert_elements(from, *wanted);
}

std::span<const std::byte> BlockCopy::read(const WholeTensor& tensor, const TensorBlock& block) {
  if (const auto view = model_.view(tensor, block)) return *view;
  read_.resize(tensor.bytes_of(block));
  model_.read(tensor, block, read_);
  return read_;
}

std::span<const std::byte> BlockCopy::bytes(const WholeTensor& tensor, const ShardBlock& block,
                                            FileDType dtype) {
  std::span<const std::byte> bytes = read(tensor, block.block);
  if (block.transposed && block.block.rows > 1 && block.block.columns > 1) {
    arranged_.resize(bytes.size());
    transpose(bytes, block.block.rows, block.block.columns, size_of(tensor.dtype), arranged_);
    bytes = arranged_;
  }
  if (block.padding > 1) {
    const std::size_t row = bytes.size();
    arranged_.resize(row * static_cast<std::size_t>(block.padding));
    for (std::int64_t copy = 0; copy < block.padding; ++copy)
      std::memcpy(arranged_.data() + static_cast<std::size_t>(copy) * row, bytes.data(), row);
    bytes = arranged_;
  }
  if (tensor.dtype == dtype) return bytes;
  const std::optional<DType> wanted = graph_type(dtype);
  check(wanted.has_value(), "a conversion to an element type that is not computed with");
  const std::size_t count = bytes.size() / static_cast<std::size_t>(size_of(tensor.dtype));
  converted_.resize(count * static_cast<std::size_t>(size_of(dtype)));
  convert_elements(tensor.dtype, bytes.data(), *wanted, converted_.data(), count);
  return converted_;
}

std::span<const std::byte> BlockCopy::zeros(std::size_t count) {
  arranged_.assign(count, std::byte{0});
  return arranged_;
}

void transpose(std::span<const std::byte> in, std::int64_t rows, std::int64_t columns,
               std::int64_t element_size, std::span<std::byte> out) {
  check(in.size() == static_cast<std::size_t>(rows * columns * element_size) && out.size() == in.size(),
        "a transposed matrix has as many elements as the matrix");
  switch (element_size) {
    case 1:
      return transpose_tiles<std::uint8_t>(in.data(), rows, columns, out.data());
    case 2:
      return transpose_tiles<std::uint16_t>(in.data(), rows, columns, out.data());
    case 4:
      return transpose_tiles<std::uint32_t>(in.data(), rows, columns, out.data());
    case 8:
      return transpose_tiles<std::uint64_t>(in.data(), rows, columns, out.data());
    default:
      check(false, "elements have 1, 2, 4 or 8 bytes");
  }
}

void transpose_reference(std::span<const std::byte> in, std::int64_t rows, std::int64_t columns,
                         std::int64_t element_size, std::span<std::byte> out) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      std::copy_n(in.begin() + (row * columns + column) * element_size, element_size,
                  out.begin() + (column * rows + row) * element_size);
}

}  // namespace nadi::inline files
