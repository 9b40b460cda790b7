#include "nadi/checkpoint_inspection/tensor_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "nadi/checkpoint_inspection/element_values.h"

namespace nadi::inline files {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Blocks of a matrix of at most so many elements, row by row: whole rows where one fits, else parts of a row.
template <class Visit>
void for_each_block(const WholeTensor& tensor, std::int64_t most_elements, const Visit& visit) {
  const std::int64_t rows = tensor.rows(), columns = tensor.columns();
  if (rows == 0 || columns == 0) return;
  const std::int64_t width = std::min(columns, most_elements);
  const std::int64_t height = width == columns ? std::max<std::int64_t>(1, most_elements / columns) : 1;
  for (std::int64_t row = 0; row < rows; row += height)
    for (std::int64_t column = 0; column < columns; column += width)
      visit(TensorBlock{.row = row,
                        .rows = std::min(height, rows - row),
                        .column = column,
                        .columns = std::min(width, columns - column)});
}

// The bytes of blocks of one side, without a copy where that is possible.
class BlockBytes {
 public:
  BlockBytes(const StoredTensors& stored, const WholeTensor& tensor) : stored_(stored), tensor_(tensor) {}

  std::span<const std::byte> of(const TensorBlock& block) {
    if (const auto bytes = stored_.view(tensor_, block)) return *bytes;
    copy_.resize(tensor_.bytes_of(block));
    stored_.read(tensor_, block, copy_);
    return copy_;
  }

 private:
  const StoredTensors& stored_;
  const WholeTensor& tensor_;
  std::vector<std::byte> copy_;
};

void compare_values(std::span<const double> a, std::span<const double> b, TensorComparison& into) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ++into.different;
    double absolute = std::abs(a[i] - b[i]);
    double relative = absolute / std::max(std::abs(a[i]), std::abs(b[i]));
    if (!std::isfinite(absolute)) absolute = relative = kInfinite;
    into.largest_absolute = std::max(into.largest_absolute, absolute);
    into.largest_relative = std::max(into.largest_relative, relative);
  }
}

// Types that have no values: an element is equal if its bytes are.
void compare_bytes(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t element,
                   TensorComparison& into) {
  for (std::size_t at = 0; at < a.size(); at += element) {
    if (std::memcmp(a.data() + at, b.data() + at, element) == 0) continue;
    ++into.different;
    into.largest_absolute = into.largest_relative = kInfinite;
  }
}

class Comparer {
 public:
  Comparer(const StoredTensors& a, const StoredTensors& b, const ComparisonOptions& options)
      : a_(a), b_(b), options_(options) {}

  CheckpointComparison run() {
    std::unordered_map<std::string_view, const WholeTensor*> in_b;
    for (const WholeTensor& tensor : b_.tensors())
      if (wanted(tensor)) in_b.emplace(tensor.name, &tensor);
    for (const WholeTensor& tensor : a_.tensors()) total_ += tensor.bytes_of(tensor.whole());
    for (const WholeTensor& tensor : a_.tensors()) {
      if (!wanted(tensor)) {
        ++result_.skipped;
      } else if (const auto other = in_b.find(tensor.name); other == in_b.end()) {
        result_.only_a.push_back(tensor.name);
      } else {
        compare(tensor, *other->second);
        in_b.erase(other);
        continue;
      }
      report(tensor.bytes_of(tensor.whole()));
    }
    for (const WholeTensor& tensor : b_.tensors())
      if (in_b.contains(tensor.name)) result_.only_b.push_back(tensor.name);
    a_.check_rest();
    b_.check_rest();
    return std::move(result_);
  }

 private:
  bool wanted(const WholeTensor& tensor) const { return options_.optimizer || !is_training_state(tensor); }

  void report(std::size_t bytes) {
    done_ += bytes;
    if (options_.progress)
      options_.progress(Bytes{static_cast<std::int64_t>(done_)}, Bytes{static_cast<std::int64_t>(total_)});
  }

  void compare(const WholeTensor& a, const WholeTensor& b) {
    TensorComparison compared{
        .name = a.name, .dtype_a = a.dtype, .dtype_b = b.dtype, .shape_a = a.shape, .shape_b = b.shape};
    if (compared.same_shape()) {
      compared.elements = a.shape.elements();
      const bool values = has_values(a.dtype) && has_values(b.dtype);
      BlockBytes of_a(a_, a), of_b(b_, b);
      const std::int64_t most =
          std::max<std::int64_t>(1, options_.block_bytes / std::max(size_of(a.dtype), size_of(b.dtype)));
      for_each_block(a, most, [&](const TensorBlock& block) {
        const std::span<const std::byte> bytes_a = of_a.of(block), bytes_b = of_b.of(block);
        const bool same_bytes =
            a.dtype == b.dtype && std::memcmp(bytes_a.data(), bytes_b.data(), bytes_a.size()) == 0;
        if (!same_bytes) {
          if (values)
            compare_as_values(a.dtype, bytes_a, b.dtype, bytes_b, compared);
          else if (a.dtype == b.dtype)
            compare_bytes(bytes_a, bytes_b, static_cast<std::size_t>(size_of(a.dtype)), compared);
          else
            all_differ(block.elements(), compared);
        }
        report(bytes_a.size());
      });
    } else {
      report(a.bytes_of(a.whole()));
    }
    result_.tensors.push_back(std::move(compared));
  }

  void compare_as_values(FileDType dtype_a, std::span<const std::byte> bytes_a, FileDType dtype_b,
                         std::span<const std::byte> bytes_b, TensorComparison& into) {
    const std::size_t count = bytes_a.size() / static_cast<std::size_t>(size_of(dtype_a));
    values_a_.resize(count);
    values_b_.resize(count);
    element_values(dtype_a, bytes_a.data(), values_a_);
    element_values(dtype_b, bytes_b.data(), values_b_);
    compare_values(values_a_, values_b_, into);
  }

  static void all_differ(std::int64_t elements, TensorComparison& into) {
    into.different += elements;
    into.largest_absolute = into.largest_relative = kInfinite;
  }

  const StoredTensors& a_;
  const StoredTensors& b_;
  const ComparisonOptions& options_;
  CheckpointComparison result_;
  std::vector<double> values_a_, values_b_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace

std::int64_t CheckpointComparison::different_tensors() const {
  return std::ranges::count_if(tensors, [](const TensorComparison& tensor) { return !tensor.equal(); });
}

std::int64_t CheckpointComparison::different_types() const {
  return std::ranges::count_if(
      tensors, [](const TensorComparison& tensor) { return tensor.dtype_a != tensor.dtype_b; });
}

double CheckpointComparison::largest_absolute() const {
  double largest = 0;
  for (const TensorComparison& tensor : tensors) largest = std::max(largest, tensor.largest_absolute);
  return largest;
}

bool CheckpointComparison::equal() const {
  return only_a.empty() && only_b.empty() && different_tensors() == 0;
}

CheckpointComparison compare_tensors(const StoredTensors& a, const StoredTensors& b,
                                     const ComparisonOptions& options) {
  return Comparer(a, b, options).run();
}

}  // namespace nadi::inline files
