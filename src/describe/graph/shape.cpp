#include "nadi/graph/shape.h"

#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/units.h"

namespace nadi::inline describe {

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  check(rank_ <= kMaxRank, "a shape has at most six axes");
  for (int axis = 0; axis < rank_; ++axis) {
    check(extents[axis] >= 0, "an extent is negative");
    extents_[axis] = extents[axis];
  }
}

std::int64_t Shape::operator[](int axis) const {
  if (axis < 0) axis += rank_;
  check(axis >= 0 && axis < rank_, "an axis is out of range");
  return extents_[axis];
}

void Shape::set(int axis, std::int64_t extent) {
  if (axis < 0) axis += rank_;
  check(axis >= 0 && axis < rank_ && extent >= 0, "an axis or an extent is out of range");
  extents_[axis] = extent;
}

std::int64_t Shape::elements(int first, int end) const {
  check(first >= 0 && first <= end && end <= rank_, "a range of axes is out of range");
  std::int64_t product = 1;
  // Asked for more often than anything else of a graph: checked_multiply() is left to name what is too large.
  for (int axis = first; axis < end; ++axis)
    if (__builtin_mul_overflow(product, extents_[axis], &product))
      return checked_multiply(std::numeric_limits<std::int64_t>::max(), extents_[axis], "tensor elements");
  return product;
}

Shape Shape::append(std::int64_t extent) const {
  check(rank_ < kMaxRank && extent >= 0, "a shape has at most six axes");
  Shape longer = *this;
  longer.extents_[longer.rank_++] = extent;
  return longer;
}

Shape Shape::slice(int first, int end) const {
  check(first >= 0 && first <= end && end <= rank_, "a range of axes is out of range");
  return Shape(extents().subspan(first, end - first));
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(extents_[axis]);
  }
  return text + "]";
}

}  // namespace nadi::inline describe
