// Blocks that stay in the first-level cache: each is loaded from the first array, combined with the others,
// and stored. The target may be any of the arrays, so nothing is stored before all have been read.
#include "nadi/comm/combine.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "nadi/base/error.h"
#include "nadi/engine/element.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kBlock = 1024;

using Arrays = std::span<const std::byte* const>;

template <class Element>
void combine_block(Element* sum, const Element* next, std::int64_t count, ReduceOp op) {
  // Integers wrap around, as they do in a kernel.
  using Number = typename std::conditional_t<std::is_integral_v<Element>, std::make_unsigned<Element>,
                                             std::type_identity<Element>>::type;
  const auto number = [](Element value) { return static_cast<Number>(value); };
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      for (std::int64_t i = 0; i < count; ++i)
        sum[i] = static_cast<Element>(number(sum[i]) + number(next[i]));
      return;
    case ReduceOp::kMinimum:
      for (std::int64_t i = 0; i < count; ++i) sum[i] = std::min(sum[i], next[i]);
      return;
    case ReduceOp::kMaximum:
      for (std::int64_t i = 0; i < count; ++i) sum[i] = std::max(sum[i], next[i]);
      return;
    case ReduceOp::kProduct:
      for (std::int64_t i = 0; i < count; ++i)
        sum[i] = static_cast<Element>(number(sum[i]) * number(next[i]));
      return;
  }
  unreachable();
}

void combine_floats(Arrays arrays, std::int64_t elements, const CombineAs& as, std::byte* target) {
  float sum[kBlock];
  float converted[kBlock];
  for (std::int64_t first = 0; first < elements; first += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - first);
    convert_to_float(element(arrays[0], as.dtype, first), as.dtype, count, sum);
    for (const std::byte* array : arrays.subspan(1))
      combine_block(sum, load_row(element(array, as.dtype, first), as.dtype, count, converted), count, as.op);
    if (as.op == ReduceOp::kAverage)
      for (std::int64_t i = 0; i < count; ++i) sum[i] /= static_cast<float>(arrays.size());
    convert_from_float(sum, count, element(target, as.dtype, first), as.dtype);
  }
}

template <class Element>
void combine_integers(Arrays arrays, std::int64_t elements, const CombineAs& as, std::byte* target) {
  Element sum[kBlock];
  for (std::int64_t first = 0; first < elements; first += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - first);
    const std::size_t size = static_cast<std::size_t>(count) * sizeof(Element);
    std::memcpy(sum, element(arrays[0], as.dtype, first), size);
    for (const std::byte* array : arrays.subspan(1))
      combine_block(sum, reinterpret_cast<const Element*>(array) + first, count, as.op);
    std::memcpy(element(target, as.dtype, first), sum, size);
  }
}

}  // namespace

bool can_combine(const CombineAs& as) {
  return !is_fp8(as.dtype) && (is_floating(as.dtype) || as.op != ReduceOp::kAverage);
}

void combine(Arrays arrays, std::int64_t elements, const CombineAs& as, std::byte* target) {
  check(can_combine(as), "these elements are not combined in this way");
  if (arrays.size() == 1) {
    if (arrays[0] != target)
      std::memmove(target, arrays[0], static_cast<std::size_t>(elements * size_of(as.dtype)));
    return;
  }
  switch (as.dtype) {
    case DType::kF32:
    case DType::kBF16:
    case DType::kF16:
      return combine_floats(arrays, elements, as, target);
    case DType::kI32:
      return combine_integers<std::int32_t>(arrays, elements, as, target);
    case DType::kI64:
      return combine_integers<std::int64_t>(arrays, elements, as, target);
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      break;
  }
  unreachable();
}

}  // namespace nadi::inline engines
