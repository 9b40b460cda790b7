// What the processors of this machine did meanwhile, and whether a measurement was disturbed by it.
//
//   const auto before = processor_use_so_far();
//   measure();
//   const auto after = processor_use_so_far();
//   if (before && after) {
//     const ProcessorUse during = *after - *before;
//     if (can_be_judged(during) && disturbed_share(during) > kDisturbed) measure_again();
//   }
//
// Two things slow a measurement down without any doing of the program: a hypervisor that gives the processors
// of this machine to another one ("stolen"), and other processes. The rule, fixed before any data were
// looked at: a measurement is disturbed when more than 2% of the processor time during it was stolen or taken
// by other processes. What neighbours take away without being seen (clock rates, memory, the other thread of
// a core) is not judged.
//
// Linux counts in ticks of 10 ms (/proc/stat), so what is shorter than 200 of them cannot be judged.
// Processors are those that the process may run on. Of several ranks on one machine, `own` is the sum of
// theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline ground {

// Sums over processors.
struct ProcessorUse {
  Nanoseconds elapsed = {};  // the time that passed, of each of them
  Nanoseconds stolen = {};   // by the hypervisor
  Nanoseconds busy = {};     // with processes and the system: neither idle nor stolen
  Nanoseconds own = {};      // with this process

  ProcessorUse& operator+=(const ProcessorUse& other);
  ProcessorUse& operator-=(const ProcessorUse& other);
  friend ProcessorUse operator-(ProcessorUse a, const ProcessorUse& b) { return a -= b; }
  bool operator==(const ProcessorUse&) const = default;
};

// Since the machine and the process started; only differences mean something. Nothing where the system does
// not say. Allocates nothing.
std::optional<ProcessorUse> processor_use_so_far();

constexpr double kDisturbed = 0.02;                    // of the processor time
constexpr Nanoseconds kShortestJudged{2'000'000'000};  // of processor time: a tick is half a percent
bool can_be_judged(const ProcessorUse& during);
// What was stolen or taken by others, of what passed; 0 where nothing passed.
double disturbed_share(const ProcessorUse& during);

// What a text like /proc/stat says of the processors for which `counts` is true. Nothing where it has none.
struct ProcessorLines {
  std::int64_t processors = 0;
  Nanoseconds stolen = {}, busy = {};
};
std::optional<ProcessorLines> read_processor_lines(std::string_view text, bool (*counts)(int processor));

}  // namespace nadi::inline ground
