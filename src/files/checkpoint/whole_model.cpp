#include "nadi/checkpoint/whole_model.h"

#include <cstring>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline files {

namespace {

// `out` is the element of the piece's first row and column; its rows are `row_bytes` apart.
void copy_piece(const MappedPiece& piece, std::int64_t element, std::byte* out, std::int64_t row_bytes) {
  for (std::int64_t i = 0; i < piece.block.rows; ++i, out += row_bytes) {
    const std::byte* from = piece.data + i * piece.row_stride;
    if (piece.column_stride == element) {
      std::memcpy(out, from, static_cast<std::size_t>(piece.block.columns * element));
    } else {
      for (std::int64_t j = 0; j < piece.block.columns; ++j)
        std::memcpy(out + j * element, from + j * piece.column_stride, static_cast<std::size_t>(element));
    }
  }
}

// From its first element to its last: with strides, what lies between is checked, too.
void check_piece(const CheckedMemory* memory, const MappedPiece& piece, std::int64_t element) {
  if (memory == nullptr || piece.block.elements() == 0) return;
  const std::int64_t size =
      (piece.block.rows - 1) * piece.row_stride + (piece.block.columns - 1) * piece.column_stride + element;
  memory->check({piece.data, static_cast<std::size_t>(size)});
}

}  // namespace

void WholeModel::check_rest() const {
  if (memory() != nullptr) memory()->check_rest();
}

void WholeModel::read(const WholeTensor& tensor, const TensorBlock& block, std::span<std::byte> out) const {
  check(out.size() == tensor.bytes_of(block), "the memory has the size of the block");
  const std::int64_t element = size_of(tensor.dtype), row_bytes = block.columns * element;
  for (const MappedPiece& piece : pieces(tensor, block)) {
    check_piece(memory(), piece, element);
    copy_piece(piece, element,
               out.data() + (piece.block.row - block.row) * row_bytes +
                   (piece.block.column - block.column) * element,
               row_bytes);
  }
}

std::optional<std::span<const std::byte>> WholeModel::view(const WholeTensor& tensor,
                                                           const TensorBlock& block) const {
  const std::vector<MappedPiece> all = pieces(tensor, block);
  if (all.size() != 1) return std::nullopt;
  const std::int64_t element = size_of(tensor.dtype);
  const bool follow = (all[0].column_stride == element || block.columns == 1) &&
                      (all[0].row_stride == block.columns * element || block.rows == 1);
  if (!follow) return std::nullopt;
  check_piece(memory(), all[0], element);
  return std::span(all[0].data, tensor.bytes_of(block));
}

const WholeTensor* WholeModel::find(std::string_view name) const {
  std::call_once(indexed_, [&] {
    for (const WholeTensor& tensor : tensors()) by_name_.emplace(tensor.name, &tensor);
  });
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const WholeTensor& WholeModel::at(std::string_view name) const {
  if (const WholeTensor* found = find(name)) return *found;
  std::vector<std::string_view> known;
  for (const WholeTensor& tensor : tensors()) known.push_back(tensor.name);
  throw input_error({.file = file()}, format("there is no tensor '{}'", name), did_you_mean(name, known));
}

}  // namespace nadi::inline files
