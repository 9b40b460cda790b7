// Where arrays that are worked on together, element by element, all begin at round addresses. Variables may
// begin at any element of a bucket.
//
//   CommonHead head;
//   head.add(parameter, sizeof(P));
//   head.add(gradient, sizeof(float));
//   head.of(elements)   // so many single elements first, then vectors; kNoHead: nowhere
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace nadi::inline engines::cuda {

inline constexpr std::int64_t kNoHead = -1;

// Elements before the first that all arrays have at a round address: a cache line of fp32, or else a vector.
class CommonHead {
 public:
  static constexpr int kVector = 4;  // elements

  void add(const void* data, std::int64_t element_size) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const auto element = static_cast<std::int64_t>(address / static_cast<std::uintptr_t>(element_size));
    for (std::size_t i = 0; i < std::size(kMultiples); ++i) {
      const std::int64_t head = (kMultiples[i] - element % kMultiples[i]) % kMultiples[i];
      if (!empty_ && head != heads_[i]) heads_[i] = kNoHead;
      if (empty_) heads_[i] = head;
    }
    empty_ = false;
  }
  std::int64_t of(std::int64_t elements) const {
    for (const std::int64_t head : heads_)
      if (head != kNoHead) return std::min(head, elements);
    return kNoHead;
  }

 private:
  static constexpr std::int64_t kMultiples[]{32, kVector};
  std::int64_t heads_[std::size(kMultiples)] = {};
  bool empty_ = true;
};

}  // namespace nadi::inline engines::cuda
