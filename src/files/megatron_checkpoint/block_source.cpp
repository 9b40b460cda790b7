#include "nadi/megatron_checkpoint/block_source.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/megatron_checkpoint/whole_names.h"

namespace nadi::inline files {
namespace {

TensorBlock common_part(const TensorBlock& a, const TensorBlock& b) {
  const std::int64_t row = std::max(a.row, b.row), column = std::max(a.column, b.column);
  const std::int64_t rows = std::min(a.row + a.rows, b.row + b.rows) - row;
  const std::int64_t columns = std::min(a.column + a.columns, b.column + b.columns) - column;
  if (rows <= 0 || columns <= 0) return {};
  return {.row = row, .rows = rows, .column = column, .columns = columns};
}

// "w.master" -> "w".
std::string_view parameter_of(std::string_view name) {
  for (const std::string_view suffix : {kFirstMoment, kSecondMoment, kMasterWeights})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

const std::byte* start_of(const MappedShard& shard, const WholePiece& piece) {
  return shard.data + piece.first * size_of(shard.dtype);
}

}  // namespace

ShardTensor with_suffix(ShardTensor tensor, std::string_view suffix) {
  for (ShardBlock& block : tensor.blocks) block.tensor += suffix;
  return tensor;
}

// A block is either rows of the tensor, or a vector within one row of it.
ShardTensor cut_tensor(const ShardTensor& tensor, const TensorBlock& part, const Shape& shape) {
  ShardTensor cut{.name = tensor.name, .shape = shape};
  const std::int64_t width = tensor.shape.rank() <= 1 ? 1 : tensor.shape[-1];
  std::int64_t first = 0;  // element of the block in the tensor
  for (const ShardBlock& block : tensor.blocks) {
    const bool is_rows = (block.transposed ? block.block.rows : block.block.columns) == width;
    const std::int64_t elements = block.elements();
    const TensorBlock place{.row = first / width,
                            .rows = is_rows ? elements / width : 1,
                            .column = first % width,
                            .columns = is_rows ? width : elements};
    check(is_rows || place.column + elements <= width, "a vector lies within a row");
    first += elements;
    const TensorBlock common = common_part(part, place);
    if (common.rows == 0) continue;
    const std::int64_t row = common.row - place.row, column = common.column - place.column;
    ShardBlock piece = block;
    if (block.padding > 0) {
      piece.padding = is_rows ? common.rows : common.columns;
      if (is_rows) piece.block.column += column, piece.block.columns = common.columns;
    } else if (!is_rows) {
      piece.block.row += column;
      piece.block.rows = common.columns;
    } else {
      const TensorBlock& whole = block.block;
      piece.block = block.transposed ? TensorBlock{.row = whole.row + column,
                                                   .rows = common.columns,
                                                   .column = whole.column + row,
                                                   .columns = common.rows}
                                     : TensorBlock{.row = whole.row + row,
                                                   .rows = common.rows,
                                                   .column = whole.column + column,
                                                   .columns = common.columns};
    }
    cut.blocks.push_back(std::move(piece));
  }
  return cut;
}

BlockSource::BlockSource(Contents contents) : contents_(std::move(contents)) {
  std::vector<const ShardTensor*> shards;
  for (const MappedShard& shard : contents_.shards) shards.push_back(&shard.tensor);
  for (WholeIndexEntry& entry : whole_index(shards)) add(std::move(entry));
  put_in_order();
}

void BlockSource::add(WholeIndexEntry entry) {
  const MappedShard& first = contents_.shards[entry.pieces.front().shard];
  std::int64_t rows = 0, columns = 0, elements = 0;
  std::set<std::string> files;
  for (const WholePiece& piece : entry.pieces) {
    const MappedShard& shard = contents_.shards[piece.shard];
    if (shard.dtype != first.dtype)
      throw input_error({.file = shard.file},
                        format("'{}' is {}, but {} in {}", shard.tensor.name, to_string(shard.dtype),
                               to_string(first.dtype), first.file),
                        "the files are of different checkpoints");
    rows = std::max(rows, piece.block.row + piece.block.rows);
    columns = std::max(columns, piece.block.column + piece.block.columns);
    elements += piece.block.elements();
    files.insert(shard.file);
  }
  if (elements != rows * columns)
    throw input_error({.file = first.file}, format("of '{}' ({}) only {} of {} elements are there",
                                                   entry.name, first.tensor.name, elements, rows * columns));
  const bool is_vector =
      std::ranges::all_of(entry.pieces, [&](const WholePiece& piece) { return piece.block.columns == 1; });
  WholeTensor tensor{.name = entry.name,
                     .dtype = first.dtype,
                     .shape = is_vector && columns == 1 ? Shape{rows} : Shape{rows, columns},
                     .stored_rows = rows,
                     .place = first.file};
  if (files.size() > 1)
    tensor.place += format(" and {} other{}", files.size() - 1, files.size() > 2 ? "s" : "");
  check_copies(entry, tensor);
  tensors_.push_back(std::move(tensor));
  index_.push_back(std::move(entry));
}

void BlockSource::check_copies(const WholeIndexEntry& entry, const WholeTensor& tensor) const {
  std::map<std::pair<std::int64_t, std::int64_t>, const WholePiece*> originals;
  for (const WholePiece& piece : entry.pieces) originals[{piece.block.row, piece.block.column}] = &piece;
  for (const WholePiece& copy : entry.replicas) {
    const WholePiece& original = *originals.at({copy.block.row, copy.block.column});
    const MappedShard &of_copy = contents_.shards[copy.shard],
                      &of_original = contents_.shards[original.shard];
    const std::byte *a = start_of(of_copy, copy), *b = start_of(of_original, original);
    const std::size_t size = tensor.bytes_of(copy.block);
    const std::size_t part = std::min(size, static_cast<std::size_t>(kComparedBytes));
    if (of_copy.dtype != of_original.dtype || std::memcmp(a, b, part) != 0 ||
        std::memcmp(a + size - part, b + size - part, part) != 0) {
      if (contents_.memory != nullptr) {  // damage of one of them says more
        contents_.memory->check({a, size});
        contents_.memory->check({b, size});
        contents_.memory->check_rest();
      }
      throw input_error({.file = of_copy.file},
                        format("'{}' differs from '{}' in {}, of which it should be a copy",
                               of_copy.tensor.name, of_original.tensor.name, of_original.file),
                        "the files are of different checkpoints");
    }
  }
}

void BlockSource::check_rest() const {
  if (contents_.memory == nullptr) return;
  const auto bytes_of = [&](std::size_t number, const WholePiece& piece) {
    return std::span(start_of(contents_.shards[piece.shard], piece), tensors_[number].bytes_of(piece.block));
  };
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const auto was_read = [&](const WholePiece& piece) {
      return contents_.memory->was_read(bytes_of(i, piece));
    };
    if (index_[i].replicas.empty() || std::ranges::none_of(index_[i].pieces, was_read)) continue;
    for (const WholePiece& copy : index_[i].replicas) contents_.memory->check(bytes_of(i, copy));
  }
  contents_.memory->check_rest();
}

// Parameters as the model has them, then their optimizer state, then whatever else there is.
void BlockSource::put_in_order() {
  std::map<std::string, std::size_t, std::less<>> places;
  const WholeNames names = whole_names(contents_.config);
  const std::set<std::string_view> padded{names.words, names.output, names.output_bias};
  std::vector<WantedTensor> parameters = whole_parameters(contents_.config);
  for (std::size_t i = 0; i < parameters.size(); ++i) places[parameters[i].name] = i;
  std::vector<std::pair<std::size_t, std::size_t>> keys(tensors_.size());  // group and place, by tensor
  std::vector<bool> there(parameters.size(), false);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    WholeTensor& tensor = tensors_[i];
    const std::string_view parameter = parameter_of(tensor.name);
    const auto place = places.find(parameter);
    if (place == places.end()) {
      keys[i] = {2, i};
      continue;
    }
    const bool is_parameter = parameter == tensor.name;
    keys[i] = {is_parameter ? 0 : 1, place->second};
    if (is_parameter) there[place->second] = true;
    const Shape& wanted = parameters[place->second].shape;
    Shape stored = wanted;
    if (padded.contains(parameter)) stored.set(0, std::max(wanted[0], tensor.stored_rows));
    if (tensor.shape != stored)
      throw input_error({.file = tensor.place},
                        format("'{}' is {}, but the configuration says {}", tensor.name,
                               tensor.shape.to_string(), stored.to_string()),
                        "the configuration is of another model");
    tensor.shape = wanted;
  }
  const auto missing = std::ranges::find(there, false);
  if (missing != there.end())
    throw input_error({.file = contents_.file},
                      format("the checkpoint has no '{}', which the configuration asks for",
                             parameters[static_cast<std::size_t>(missing - there.begin())].name),
                      "the configuration is of another model");
  std::vector<std::size_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
  std::vector<WholeTensor> tensors;
  std::vector<WholeIndexEntry> index;
  for (const std::size_t i : order) {
    tensors.push_back(std::move(tensors_[i]));
    index.push_back(std::move(index_[i]));
  }
  tensors_ = std::move(tensors);
  index_ = std::move(index);
}

std::vector<MappedPiece> BlockSource::pieces(const WholeTensor& tensor, const TensorBlock& block) const {
  const auto number = static_cast<std::size_t>(&tensor - tensors_.data());
  check(number < tensors_.size(), "the tensor is one of this model's");
  check(block.row >= 0 && block.row + block.rows <= tensor.stored_rows, "the block lies within the tensor");
  std::vector<MappedPiece> found;
  for (const WholePiece& piece : index_[number].pieces) {
    const TensorBlock common = common_part(piece.block, block);
    if (common.rows == 0) continue;
    const std::int64_t element = size_of(tensor.dtype);
    MappedPiece mapped{.block = common,
                       .data = start_of(contents_.shards[piece.shard], piece),
                       .row_stride = piece.block.columns * element,
                       .column_stride = element};
    if (piece.transposed) {
      mapped.row_stride = element;
      mapped.column_stride = piece.block.rows * element;
    }
    mapped.data += (common.row - piece.block.row) * mapped.row_stride +
                   (common.column - piece.block.column) * mapped.column_stride;
    found.push_back(mapped);
  }
  return found;
}

}  // namespace nadi::inline files
