// The extent of a tensor along each of its axes, outermost first. At most six axes, kept in place, so that
// a graph of ten thousand tensors does not allocate for them.
//
//   Shape x{4, 512, 768};   x.rank() == 3;   x[-1] == 768;   x.elements() == 1572864
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace nadi::inline describe {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;  // a scalar: rank 0, one element
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const;  // negative axes count from the end
  void set(int axis, std::int64_t extent);
  std::int64_t elements() const { return elements(0, rank_); }
  std::int64_t elements(int first, int end) const;  // product over axes [first, end)
  std::span<const std::int64_t> extents() const { return {extents_.data(), static_cast<std::size_t>(rank_)}; }

  Shape append(std::int64_t extent) const;  // one more axis, innermost
  Shape slice(int first, int end) const;    // axes [first, end)

  bool operator==(const Shape& other) const = default;
  std::string to_string() const;  // "[4, 512, 768]"

 private:
  std::array<std::int64_t, kMaxRank> extents_{};  // unused ones stay 0, so that == can compare them all
  int rank_ = 0;
};

}  // namespace nadi::inline describe
