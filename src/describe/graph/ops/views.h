// Other names for the same memory: reshape, permute (transposed axes), split (parts along an axis). They cost
// nothing and move nothing, and do not appear in traces. concat, which does move memory, is the gradient of
// split and lives with it.
#pragma once

#include <initializer_list>
#include <span>

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

TensorId reshape(GraphBuilder& builder, TensorId x, const Shape& shape);  // x itself when it has that shape
TensorId permute(GraphBuilder& builder, TensorId x, std::initializer_list<std::int64_t> axes);
std::vector<TensorId> split(GraphBuilder& builder, TensorId x, int axis,
                            std::span<const std::int64_t> extents);
TensorId concat(GraphBuilder& builder, std::span<const TensorId> parts, int axis);

// Where a tensor's elements are: in the memory of `root`, from element `offset` on, `strides` elements apart
// along each axis. A tensor that no view op made is its own root.
struct Layout {
  TensorId root;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};
Layout layout_of(const Graph& graph, TensorId tensor);

// Whether the elements of this shape lie one after the other; the stride of an axis of one element does not
// matter.
bool is_contiguous(const Shape& shape, std::span<const std::int64_t> strides);

}  // namespace nadi::inline describe
