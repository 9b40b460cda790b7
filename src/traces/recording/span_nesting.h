// Makes spans of a timeline end strictly inside one another, so that viewers nest them as they ran.
//
//   std::vector<SpanTimes> spans = ...;          // of one thread, by start, outer ones before inner ones
//   separate_ends(spans, next_start);
//
// A span that ends when the span around it ends is ambiguous on paper, and more so in viewers: they add start
// and duration as doubles of microseconds, in which a time since the beginning of a quarter of a year has a
// resolution of 2^-10 us, so that either of the two may come out later. Here each span ends at least
// kSpanMargin before the one around it and before the next one starts.
//
// Durations of leaves are measurements: where there is room, the spans around are made longer by a margin per
// level, and the leaves stay. Where the next span starts at once, spans are made shorter.
#pragma once

#include <optional>
#include <span>

#include "nadi/base/units.h"

namespace nadi::inline traces {

// Two starts and two sums are rounded by up to half of 0.98 ns each.
inline constexpr Nanoseconds kSpanMargin{2};

struct SpanTimes {
  Nanoseconds start;
  Nanoseconds end;
};

// `next` is when the first span starts that follows all of these. Spans that overlap without one containing
// the other are left as they are, and a span never ends before it starts.
void separate_ends(std::span<SpanTimes> spans, std::optional<Nanoseconds> next = {});

}  // namespace nadi::inline traces
