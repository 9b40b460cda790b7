// The innermost axes that lie contiguously in the source are moved as blocks; the others are walked with an
// odometer that each thread sets to its first block.

#include "nadi/cpu/strided_copy.h"

#include <array>
#include <cstring>

#include "nadi/engine/host_threads.h"

namespace nadi::inline engines::cpu {

void strided_copy(const StridedCopy& copy, int threads) {
  // Axes [0, outer) are walked; a block is what lies contiguously inside.
  std::int64_t block = 1;
  int outer = copy.shape.rank();
  while (outer > 0 && (copy.shape[outer - 1] == 1 || copy.strides[outer - 1] == block))
    block *= copy.shape[--outer];
  const std::int64_t blocks = copy.shape.elements(0, outer);
  const std::int64_t block_bytes = block * copy.element_size;

  parallel_for(blocks, worthwhile_threads(blocks * block, threads),
               [&](std::int64_t first, std::int64_t end, int) {
                 std::array<std::int64_t, Shape::kMaxRank> at{};
                 std::int64_t offset = 0;
                 std::int64_t rest = first;
                 for (int axis = outer - 1; axis >= 0; --axis) {
                   at[axis] = rest % copy.shape[axis];
                   rest /= copy.shape[axis];
                   offset += at[axis] * copy.strides[axis];
                 }
                 for (std::int64_t i = first; i < end; ++i) {
                   std::memcpy(copy.target + i * block_bytes, copy.source + offset * copy.element_size,
                               static_cast<std::size_t>(block_bytes));
                   for (int axis = outer - 1; axis >= 0; --axis) {
                     offset += copy.strides[axis];
                     if (++at[axis] < copy.shape[axis]) break;
                     offset -= at[axis] * copy.strides[axis];
                     at[axis] = 0;
                   }
                 }
               });
}

}  // namespace nadi::inline engines::cpu
