// Contiguous operands, a block of elements at a time: as fp32 whatever they are in memory, small enough that
// several blocks stay in the first-level cache. fp32 operands are read and written where they are.
//
//   const Source x(call.inputs[0]);
//   const Target y(call, 0);
//   for_each_block(elements, call.threads, [&](std::int64_t first, std::int64_t count) {
//     Block x_buffer, y_buffer;
//     const float* from = x.load(first, count, x_buffer);
//     float* to = y.begin(first, y_buffer);
//     for (...) to[i] = f(from[i]);
//     y.end(first, count, to);
//   });
//
// An output may have the memory of an input of the same type: what is written at an index was read at that
// index before. Loops over blocks say `omp simd`, since a compiler that sees only that they overlap would not
// vectorise them.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "nadi/base/round_up.h"
#include "nadi/cpu/kernel.h"
#include "nadi/engine/element.h"
#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {

inline constexpr std::int64_t kBlock = 512;
using Block = float[kBlock];

// body(first, count) for blocks of [first, end), none larger than kBlock.
template <class Body>
void walk_blocks(std::int64_t first, std::int64_t end, const Body& body) {
  for (; first < end; first += kBlock) body(first, std::min(kBlock, end - first));
}

// body(first, end) for one part of [0, elements) per thread. Parts begin at multiples of kBlock, so that
// threads share no cache line and blocks are the same for any number of threads.
template <class Body>
void for_each_part(std::int64_t elements, int threads, const Body& body) {
  const std::int64_t blocks = divided_up(elements, kBlock);
  parallel_for(blocks, worthwhile_threads(elements, threads), [&](std::int64_t first, std::int64_t end, int) {
    body(first * kBlock, std::min(end * kBlock, elements));
  });
}

// body(first, count) for every block of [0, elements), in parallel.
template <class Body>
void for_each_block(std::int64_t elements, int threads, const Body& body) {
  for_each_part(elements, threads,
                [&](std::int64_t first, std::int64_t end) { walk_blocks(first, end, body); });
}

class Source {
 public:
  explicit Source(const Operand& operand) : Source(operand.data, operand.dtype()) {}
  Source(const std::byte* data, DType dtype) : data_(data), dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  const std::byte* at(std::int64_t index) const { return element(data_, dtype_, index); }
  // `count` at most kBlock.
  const float* load(std::int64_t first, std::int64_t count, float* buffer) const {
    return load_row(at(first), dtype_, count, buffer);
  }

 private:
  const std::byte* data_;
  DType dtype_;
};

// Overwritten, or added to where the op says so.
class Target {
 public:
  Target(const KernelCall& call, std::size_t output)
      : data_(call.outputs[output].data),
        dtype_(call.out_dtype(output)),
        accumulates_(call.accumulates(output)) {}

  DType dtype() const { return dtype_; }
  bool accumulates() const { return accumulates_; }
  std::byte* at(std::int64_t index) const { return element(data_, dtype_, index); }

  // Where the results for elements from `first` on are to be put, and what brings them from there to their
  // place.
  float* begin(std::int64_t first, float* buffer) const {
    return accumulates_ ? buffer : target_row(at(first), dtype_, buffer);
  }
  void end(std::int64_t first, std::int64_t count, const float* results) const {
    if (accumulates_)
      add(first, count, results);
    else
      finish_row(results, count, at(first), dtype_);
  }
  // For results that are not where begin() said.
  void put(std::int64_t first, std::int64_t count, const float* results) const {
    if (accumulates_)
      add(first, count, results);
    else
      convert_from_float(results, count, at(first), dtype_);
  }

  void put_zeros(std::int64_t first, std::int64_t count) const {
    if (!accumulates_) std::memset(at(first), 0, static_cast<std::size_t>(count * size_of(dtype_)));
  }
  // Adds, whatever the op says. A 16-bit target rounds every time.
  void add(std::int64_t first, std::int64_t count, const float* results) const {
    Block buffer;
    float* sum = target_row(at(first), dtype_, buffer);
    const float* before = load_row(at(first), dtype_, count, buffer);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) sum[i] = before[i] + results[i];
    finish_row(sum, count, at(first), dtype_);
  }

 private:
  std::byte* data_;
  DType dtype_;
  bool accumulates_;
};

// Elements [from, from + count) of the source to [to, to + count) of the target, converted where the types
// differ. Integers only to their own type.
inline void transfer(const Source& source, std::int64_t from, const Target& target, std::int64_t to,
                     std::int64_t count) {
  if (source.dtype() == target.dtype() && !target.accumulates()) {
    if (source.at(from) != target.at(to))
      std::memcpy(target.at(to), source.at(from), static_cast<std::size_t>(count * size_of(source.dtype())));
    return;
  }
  walk_blocks(0, count, [&](std::int64_t first, std::int64_t block) {
    Block buffer;
    target.put(to + first, block, source.load(from + first, block, buffer));
  });
}

// The largest of a block. NaN counts as nothing; minus infinity where there is nothing.
inline float largest_of(const float* values, std::int64_t count) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  return largest;
}

// Element `index` of an i32 or i64 operand.
inline std::int64_t integer_at(const Operand& operand, std::int64_t index) {
  return operand.dtype() == DType::kI64 ? reinterpret_cast<const std::int64_t*>(operand.data)[index]
                                        : reinterpret_cast<const std::int32_t*>(operand.data)[index];
}

inline void write_integer(const Operand& operand, std::int64_t index, std::int64_t value) {
  if (operand.dtype() == DType::kI64)
    reinterpret_cast<std::int64_t*>(operand.data)[index] = value;
  else
    reinterpret_cast<std::int32_t*>(operand.data)[index] = static_cast<std::int32_t>(value);
}

}  // namespace nadi::inline engines::cpu
