// Sums over the rows of a matrix that rows are added to one by one: the gradients of biases and of norms'
// weights. Short runs of rows are summed in fp32 and these sums in double precision, so that the error does
// not grow with the number of rows.
//
//   ColumnSums sums(memory, columns);                  // one per thread, on workspace
//   for (each row) { float* part = sums.next_row(); for (...) part[i] += ...; }
//   sums.finish();
//   put_sums(target, columns, parts, [&](int thread) { return that thread's totals(); });
#pragma once

#include <algorithm>

#include "nadi/base/round_up.h"
#include "nadi/cpu/blocks.h"

namespace nadi::inline engines::cpu {

class ColumnSums {
 public:
  static constexpr std::int64_t bytes(std::int64_t columns) {
    constexpr std::int64_t kCacheLine = 64;
    const std::int64_t used = columns * static_cast<std::int64_t>(sizeof(double) + sizeof(float));
    return rounded_up(used, kCacheLine);
  }

  ColumnSums(std::byte* memory, std::int64_t columns)
      : totals_(reinterpret_cast<double*>(memory)),
        part_(reinterpret_cast<float*>(totals_ + columns)),
        columns_(columns) {
    std::fill_n(totals_, columns, 0.0);
    std::fill_n(part_, columns, 0.0F);
  }

  // Where the row's elements are to be added.
  float* next_row() {
    if (rows_ == kRows) finish();
    ++rows_;
    return part_;
  }
  void finish() {
    for (std::int64_t i = 0; i < columns_; ++i) totals_[i] += static_cast<double>(part_[i]);
    std::fill_n(part_, columns_, 0.0F);
    rows_ = 0;
  }
  const double* totals() const { return totals_; }

 private:
  static constexpr int kRows = 64;
  double* totals_;
  float* part_;
  std::int64_t columns_;
  int rows_ = 0;
};

// The totals of several threads together, in the threads' order.
template <class TotalsOf>
void put_sums(const Target& target, std::int64_t columns, int parts, const TotalsOf& totals_of) {
  walk_blocks(0, columns, [&](std::int64_t first, std::int64_t count) {
    Block sums;
    for (std::int64_t i = 0; i < count; ++i) {
      double sum = 0;
      for (int part = 0; part < parts; ++part) sum += totals_of(part)[first + i];
      sums[i] = static_cast<float>(sum);
    }
    target.put(first, count, sums);
  });
}

}  // namespace nadi::inline engines::cpu
