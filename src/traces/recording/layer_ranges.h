// Which ranges open and close from one kernel to the next, for profilers that are told of ranges while
// kernels are enqueued (NVTX): a phase, and in it the layers around the kernel, outermost first.
//
//   LayerRanges ranges;
//   const RangeChange change = ranges.enter("forward", "transformer.h.3.attn");
//   change.closed                // so many, innermost first,
//   change.opened                // then these: {"forward", "transformer", "transformer.h.3", ...}
//   ranges.open()                // to be closed at the end of a run; then ranges.clear()
//
// Layers nest as in timelines (execution_spans.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline traces {

// The layers around an op, outermost first: "a.h.3.c" is in "a", "a.h.3" and "a.h.3.c". A number belongs to
// the name before it: "a.h" alone is no layer.
void split_layer_path(std::string_view path, std::vector<std::string_view>& layers);

struct RangeChange {
  std::size_t closed = 0;
  std::span<const std::string> opened = {};  // valid until the next call
};

class LayerRanges {
 public:
  RangeChange enter(std::string_view phase, std::string_view layer);
  std::size_t open() const { return names_.size(); }
  void clear() { names_.clear(); }

 private:
  std::vector<std::string> names_;  // those that are open, outermost first
  std::vector<std::string_view> path_;
};

}  // namespace nadi::inline traces
