// Shares units of unequal cost out to threads: every part is a run of neighbours, and parts cost about the
// same.
//
//   parallel_for(threads, threads, [&](std::int64_t part, std::int64_t, int) {
//     const UnitRange mine = balanced_part(units, {.part = part, .parts = threads}, cost);
//   });
#pragma once

#include <cstdint>

namespace nadi::inline engines::cpu {

struct UnitRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
struct PartOf {
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

// cost(unit) is at least 1. A unit belongs to the part that its middle falls into.
template <class Cost>
UnitRange balanced_part(std::int64_t units, const PartOf& part, const Cost& cost) {
  std::int64_t total = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) total += cost(unit);
  UnitRange range{.first = units, .end = units};
  std::int64_t before = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::int64_t own = cost(unit);
    const double middle = static_cast<double>(before) + static_cast<double>(own) / 2;
    const auto belongs_to =
        static_cast<std::int64_t>(middle * static_cast<double>(part.parts) / static_cast<double>(total));
    if (belongs_to >= part.part && range.first == units) range.first = unit;
    if (belongs_to > part.part) {
      range.end = unit;
      break;
    }
    before += own;
  }
  return range;
}

}  // namespace nadi::inline engines::cpu
