// Tensors of a torch.save file: a type, a shape and strides over a storage. Several tensors may share one
// storage: tied weights, views, the parameters of a flat buffer.
//
//   const TorchTensor& tensor = value.as_tensor();            // value: a PickleValue of an open TorchFile
//   if (const auto bytes = tensor.view()) use(*bytes);        // in the mapping: nothing is copied
//   tensor.read(out);                                         // any tensor: elements row by row
//   tensor.read_block({.first_row = 8, .rows = 4, .first_column = 0, .columns = 16}, out);
//
// As a matrix, a tensor has its first axis as rows and all other axes as columns; a scalar is one row of one
// column, and a vector has one column.
//
// Tensors of a file are valid as long as the file is open. They were checked when it was opened: every
// element lies inside the storage, and the storage inside the file. Reading does not change anything: several
// threads may do it at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nadi/graph/file_dtype.h"
#include "nadi/graph/shape.h"

namespace nadi::inline files {

struct TorchStorage {
  std::string key = {};                     // in the file: "0"; the writer gives keys of its own
  FileDType dtype = FileDType::kF32;        // of its elements; of an untyped storage kU8
  bool untyped = false;                     // tensors say what the elements are
  std::int64_t size = 0;                    // in bytes
  std::string location = "cpu";             // the device it was saved from: "cuda:0"
  std::span<const std::byte> bytes = {};    // of an open file: in the mapping
  std::int64_t file_offset = 0;             // of an open file: where in it `bytes` starts
  std::optional<std::uint32_t> crc32 = {};  // as the file has it; nothing where it has none
  bool big_endian = false;                  // elements are stored with the most significant byte first
};

// Rows and columns of a tensor as a matrix.
struct MatrixBlock {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
};

struct TorchTensor {
  const TorchStorage* storage = nullptr;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};
  std::array<std::int64_t, Shape::kMaxRank> strides = {};  // in elements, one for each axis
  std::int64_t offset = 0;                                 // of the first element in the storage, in elements
  bool requires_grad = false;
  bool is_parameter = false;  // torch.nn.Parameter

  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t size() const { return shape.elements() * size_of(dtype); }  // of all elements, in bytes

  // Whether the elements lie in the storage one after the other, row by row.
  bool is_contiguous() const;

  // The bytes of a contiguous tensor, in the mapping. Nothing where read() has to move bytes.
  std::optional<std::span<const std::byte>> view() const;

  // All elements row by row, little-endian; `out` has exactly size() bytes.
  void read(std::span<std::byte> out) const;
  // Elements [first, first + count) in this order.
  void read_elements(std::int64_t first, std::int64_t count, std::span<std::byte> out) const;
  // Elements of a block, row by row. The block lies inside the matrix, `out` has exactly its size.
  void read_block(const MatrixBlock& block, std::span<std::byte> out) const;

 private:
  std::int64_t place_of(std::int64_t element) const;
};

// Strides of a contiguous tensor of this shape.
std::array<std::int64_t, Shape::kMaxRank> contiguous_strides(const Shape& shape);

}  // namespace nadi::inline files
