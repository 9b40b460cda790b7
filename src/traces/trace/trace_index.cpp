#include "nadi/trace/trace_index.h"

#include <algorithm>
#include <numeric>

#include "nadi/trace/trace.h"

namespace nadi::inline traces {

TraceIndex::TraceIndex(const Trace& trace) : trace_(&trace) {
  const std::size_t size = trace.size();
  for (std::size_t row = 1; row < size && layout_ != Layout::kSorted; ++row) {
    const std::uint64_t before = to_number(trace.id(row - 1));
    const std::uint64_t here = to_number(trace.id(row));
    if (here <= before) {
      layout_ = Layout::kSorted;
    } else if (here - before != 1) {
      layout_ = Layout::kAscending;
    }
  }
  if (layout_ != Layout::kSorted) return;
  by_id_.resize(size);
  std::iota(by_id_.begin(), by_id_.end(), 0u);
  std::ranges::sort(by_id_, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(trace.id(a), a) < std::pair(trace.id(b), b);
  });
  for (std::size_t i = 1; i < size; ++i) {
    if (trace.id(by_id_[i - 1]) != trace.id(by_id_[i])) continue;
    if (!duplicate_ || by_id_[i] < duplicate_->second) duplicate_ = {by_id_[i - 1], by_id_[i]};
  }
}

std::optional<std::uint32_t> TraceIndex::row_of(TraceNodeId id) const {
  const std::size_t size = trace_->size();
  if (size == 0) return std::nullopt;
  if (layout_ == Layout::kCounting) {
    const std::uint64_t first = to_number(trace_->id(0));
    if (to_number(id) < first || to_number(id) - first >= size) return std::nullopt;
    return static_cast<std::uint32_t>(to_number(id) - first);
  }
  const auto row_at = [&](std::size_t i) {
    return layout_ == Layout::kSorted ? by_id_[i] : static_cast<std::uint32_t>(i);
  };
  std::size_t low = 0;
  std::size_t high = size;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (trace_->id(row_at(middle)) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == size || trace_->id(row_at(low)) != id) return std::nullopt;
  return row_at(low);
}

}  // namespace nadi::inline traces
