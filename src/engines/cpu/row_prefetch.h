// Brings rows of tensors that will be needed soon into the second-level cache, a few at a time between other
// work: rows of one head are far apart in memory, so that the machine does not foresee them.
//
//   prefetch.begin(rows of work until they are needed);
//   prefetch.add(k.span_of(place, tokens)); ...
//   for (each row of work) { prefetch.step(); ... }
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "nadi/base/round_up.h"

namespace nadi::inline engines::cpu {

// `rows` pieces of memory of the same size.
struct RowSpan {
  const std::byte* first = nullptr;
  std::int64_t stride = 0;  // bytes
  std::int64_t size = 0;    // bytes
  std::int64_t rows = 0;
};

class RowPrefetch {
 public:
  // Forgets what was added before.
  void begin(std::int64_t steps) {
    steps_ = std::max<std::int64_t>(steps, 1);
    spans_ = 0;
    current_ = 0;
    rows_ = 0;
    per_step_ = 0;
  }
  void add(const RowSpan& span) {
    all_[spans_++] = span;
    rows_ += span.rows;
    per_step_ = divided_up(rows_, steps_);
  }
  void step() {
    for (std::int64_t i = 0; i < per_step_ && current_ < spans_; ++i) {
      RowSpan& span = all_[current_];
      for (std::int64_t at = 0; at < span.size; at += kCacheLine) __builtin_prefetch(span.first + at, 0, 2);
      span.first += span.stride;
      if (--span.rows <= 0) ++current_;
    }
  }

 private:
  static constexpr std::int64_t kCacheLine = 64;

  std::array<RowSpan, 6> all_ = {};
  std::int64_t spans_ = 0;
  std::int64_t current_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t steps_ = 1;
  std::int64_t per_step_ = 0;
};

}  // namespace nadi::inline engines::cpu
