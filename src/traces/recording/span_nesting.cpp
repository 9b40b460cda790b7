// Two passes over the spans in their order, which is a preorder of the tree: backwards each span asks the one
// around it for room, forwards each span gets what the one around it and the next one leave. O(n).
#include "nadi/recording/span_nesting.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace nadi::inline traces {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr Nanoseconds kNever{std::numeric_limits<std::int64_t>::max()};

struct Nesting {
  std::vector<std::size_t> parent;
  std::vector<Nanoseconds> next;  // start of what follows the span and all within it
};

Nesting nesting_of(std::span<const SpanTimes> spans, Nanoseconds next) {
  Nesting nesting{std::vector<std::size_t>(spans.size(), kNone),
                  std::vector<Nanoseconds>(spans.size(), next)};
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    while (!open.empty() && spans[open.back()].end <= spans[i].start) {
      nesting.next[open.back()] = spans[i].start;
      open.pop_back();
    }
    const auto around =
        std::find_if(open.rbegin(), open.rend(), [&](std::size_t o) { return spans[o].end >= spans[i].end; });
    if (around != open.rend()) nesting.parent[i] = *around;
    // One that this span overlaps has no room behind it, and no reason to become shorter.
    for (auto overlapped = open.rbegin(); overlapped != around; ++overlapped)
      nesting.next[*overlapped] = spans[*overlapped].end + kSpanMargin;
    open.push_back(i);
  }
  return nesting;
}

}  // namespace

void separate_ends(std::span<SpanTimes> spans, std::optional<Nanoseconds> next) {
  const Nesting nesting = nesting_of(spans, next.value_or(kNever));
  for (std::size_t i = spans.size(); i-- > 0;)
    if (const std::size_t parent = nesting.parent[i]; parent != kNone)
      spans[parent].end = std::max(spans[parent].end, spans[i].end + kSpanMargin);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Nanoseconds latest = nesting.next[i] == kNever ? kNever : nesting.next[i] - kSpanMargin;
    if (const std::size_t parent = nesting.parent[i]; parent != kNone)
      latest = std::min(latest, spans[parent].end - kSpanMargin);
    spans[i].end = std::max(spans[i].start, std::min(spans[i].end, latest));
  }
}

}  // namespace nadi::inline traces
