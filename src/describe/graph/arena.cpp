#include "nadi/graph/arena.h"

#include <algorithm>

namespace nadi::inline describe {

std::int64_t ValueArena::take(std::int64_t size) {
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap)
    if (gap->size >= size && (best == gaps_.end() || gap->size < best->size)) best = gap;
  if (best == gaps_.end()) return grow(size);
  const std::int64_t offset = best->offset;
  if (best->size == size) {
    gaps_.erase(best);
  } else {
    best->offset += size;
    best->size -= size;
  }
  return offset;
}

void ValueArena::give_back(std::int64_t offset, std::int64_t size) {
  const auto next = std::ranges::lower_bound(gaps_, offset, {}, &Gap::offset);
  const bool meets_next = next != gaps_.end() && next->offset == offset + size;
  const bool meets_before = next != gaps_.begin() && (next - 1)->offset + (next - 1)->size == offset;
  if (meets_before) {
    (next - 1)->size += size + (meets_next ? next->size : 0);
    if (meets_next) gaps_.erase(next);
  } else if (meets_next) {
    next->offset = offset;
    next->size += size;
  } else {
    gaps_.insert(next, {offset, size});
  }
}

void ValueArena::clear() {
  gaps_.clear();
  size_ = 0;
}

// Takes a free gap at the end along, so that growing never leaves a hole there.
std::int64_t ValueArena::grow(std::int64_t size) {
  std::int64_t offset = size_;
  if (!gaps_.empty() && gaps_.back().offset + gaps_.back().size == size_) {
    offset = gaps_.back().offset;
    gaps_.pop_back();
  }
  size_ = offset + size;
  return offset;
}

}  // namespace nadi::inline describe
