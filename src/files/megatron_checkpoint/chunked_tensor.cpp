#include "nadi/megatron_checkpoint/chunked_tensor.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

std::string box_text(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  return format("rows {} to {}, columns {} to {}", row, row + rows - 1, column, column + columns - 1);
}

}  // namespace

ChunkedTensor::ChunkedTensor(const Shape& shape, std::int64_t element_size)
    : shape_(shape), element_size_(element_size) {
  if (shape.rank() > 0) columns_ = shape[-1];
  if (shape.rank() > 1) rows_ = shape.elements(0, shape.rank() - 1);
}

void ChunkedTensor::add_region(const Region& region) {
  // A tensor that is cut along its outermost axis comes as whole rows, one box after another in memory.
  if (!regions_.empty()) {
    Region& last = regions_.back();
    const bool continues = last.column == region.column && last.columns == region.columns &&
                           last.row + last.rows == region.row &&
                           last.data + last.rows * last.columns * element_size_ == region.data;
    if (continues) {
      last.rows += region.rows;
      return;
    }
  }
  regions_.push_back(region);
}

void ChunkedTensor::add(const TensorBox& box, std::span<const std::byte> data) {
  const int rank = shape_.rank();
  check(box.offsets.rank() == rank && box.sizes.rank() == rank &&
            static_cast<std::int64_t>(data.size()) == box.sizes.elements() * element_size_,
        "a chunk has the rank of its tensor and the size of its box");
  if (rank == 0) return add_region({.rows = 1, .columns = 1, .data = data.data()});
  // Rows of the box, in its row-major order; those of its last but one axis are next to each other.
  const std::int64_t together = rank > 1 ? box.sizes[-2] : 1;
  const std::int64_t planes = rank > 2 ? box.sizes.elements(0, rank - 2) : 1;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    std::int64_t row = rank > 1 ? box.offsets[-2] : 0, rest = plane, below = rank > 1 ? shape_[-2] : 1;
    for (int axis = rank - 3; axis >= 0; --axis) {
      row += (box.offsets[axis] + rest % box.sizes[axis]) * below;
      rest /= box.sizes[axis];
      below *= shape_[axis];
    }
    add_region({.row = row,
                .rows = together,
                .column = box.offsets[-1],
                .columns = box.sizes[-1],
                .data = data.data() + plane * together * box.sizes[-1] * element_size_});
  }
}

void ChunkedTensor::add_flattened(const FlatRange& range, std::span<const std::byte> data) {
  const std::int64_t width = range.local[-1];
  const std::byte* from = data.data();
  const auto row_of = [&](std::int64_t local_row) {
    std::int64_t row = 0, below = 1;
    for (int axis = shape_.rank() - 2; axis >= 0; --axis) {
      row += (range.offsets[axis] + local_row % range.local[axis]) * below;
      local_row /= range.local[axis];
      below *= shape_[axis];
    }
    return row;
  };
  // A part of a row, then whole rows, then a part of one.
  for (std::int64_t at = range.first, end = range.first + range.count; at < end;) {
    const std::int64_t column = at % width, count = std::min(end - at, width - column);
    add_region({.row = row_of(at / width),
                .rows = 1,
                .column = range.offsets[-1] + column,
                .columns = count,
                .data = from});
    from += count * element_size_;
    at += count;
  }
}

void ChunkedTensor::settle(const std::string& name, const std::string& file) {
  const auto wrong = [&](const std::string& text) {
    return input_error({.file = file}, format("'{}' {}: {}", name, shape_.to_string(), text));
  };
  std::vector<std::size_t> by_row(regions_.size()), by_end;
  for (std::size_t i = 0; i < by_row.size(); ++i) by_row[i] = i;
  by_end = by_row;
  std::ranges::stable_sort(by_row, {}, [&](std::size_t i) { return regions_[i].row; });
  std::ranges::stable_sort(by_end, {}, [&](std::size_t i) { return regions_[i].row + regions_[i].rows; });

  // Down the rows: the regions that a row has, by column.
  std::map<std::int64_t, std::size_t> active;
  std::int64_t covered = 0;
  std::size_t entries = 0, next_end = 0;
  const std::size_t most_entries = 64 * regions_.size() + (1 << 20);
  bands_.clear();
  for (std::size_t next = 0; next < by_row.size() || next_end < by_end.size();) {
    const std::int64_t end_row = regions_[by_end[next_end]].row + regions_[by_end[next_end]].rows;
    const std::int64_t row = next < by_row.size() ? std::min(regions_[by_row[next]].row, end_row) : end_row;
    for (; next_end < by_end.size(); ++next_end) {
      const Region& region = regions_[by_end[next_end]];
      if (region.row + region.rows != row) break;
      active.erase(region.column);
      covered -= region.columns;
    }
    for (; next < by_row.size() && regions_[by_row[next]].row == row; ++next) {
      const Region& region = regions_[by_row[next]];
      const auto after = active.lower_bound(region.column);
      const bool hits_after = after != active.end() && after->first < region.column + region.columns;
      const bool hits_before =
          after != active.begin() &&
          std::prev(after)->first + regions_[std::prev(after)->second].columns > region.column;
      if (hits_after || hits_before)
        throw wrong(format("two chunks have the elements at row {}, columns {} to {}", row, region.column,
                           region.column + region.columns - 1));
      active.emplace(region.column, by_row[next]);
      covered += region.columns;
    }
    if (row == rows_) break;
    if (bands_.empty() && row != 0) throw wrong(format("no chunk has {}", box_text(0, row, 0, columns_)));
    if (covered != columns_) {
      std::int64_t column = 0;
      for (const auto& [begin, region] : active) {
        if (begin != column) break;
        column += regions_[region].columns;
      }
      throw wrong(format("no chunk has the element at row {}, column {}", row, column));
    }
    Band band{.row = row};
    for (const auto& [column, region] : active) band.regions.push_back(region);
    entries += band.regions.size();
    if (entries > most_entries) throw wrong("its chunks have too many different borders");
    bands_.push_back(std::move(band));
  }
  const bool complete = shape_.elements() == 0 || !bands_.empty();
  if (!complete) throw wrong("it has no chunks");
}

ChunkedTensor::Place ChunkedTensor::place_of(std::int64_t element) const {
  const std::int64_t row = element / columns_, column = element % columns_;
  const auto band = std::prev(std::ranges::upper_bound(bands_, row, {}, &Band::row));
  const auto found = std::prev(
      std::ranges::upper_bound(band->regions, column, {}, [&](std::size_t i) { return regions_[i].column; }));
  const Region& region = regions_[*found];
  const std::int64_t at_row = row - region.row, at_column = column - region.column;
  const bool whole_rows = region.columns == columns_;
  return {.data = region.data + (at_row * region.columns + at_column) * element_size_,
          .count = whole_rows ? (region.rows - at_row) * columns_ - at_column : region.columns - at_column};
}

void ChunkedTensor::read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  for (std::int64_t done = 0; done < count;) {
    const Place place = place_of(first + done);
    const std::int64_t here = std::min(place.count, count - done);
    std::memcpy(out.data() + done * element_size_, place.data,
                static_cast<std::size_t>(here * element_size_));
    done += here;
  }
}

std::optional<std::span<const std::byte>> ChunkedTensor::view(std::int64_t first, std::int64_t count) const {
  if (count == 0) return std::span<const std::byte>{};
  const Place place = place_of(first);
  if (place.count < count) return std::nullopt;
  return std::span(place.data, static_cast<std::size_t>(count * element_size_));
}

}  // namespace nadi::inline files
