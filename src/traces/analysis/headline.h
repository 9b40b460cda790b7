// The figures that an analysis begins with: how long a step takes, how much it gets done, and what the time
// was lost to.
//
//   const Headline headline = headline_of(run);             // after finish()
//   headline.step_time, headline.tokens_per_second()
//   for (const Loss& loss : headline.losses) use(to_string(loss.cause), loss.time);
//
// A step of a rank lasts from the first start to the last end of its nodes, those of the host, too. A step of
// the run is as long as that of its slowest rank, and step_time is the median over the steps. Where nodes
// name no step, the longest time of any rank stands in for it (steps is 0).
//
// Losses are the parts of the device's time in which nothing computed, by cause (verdict.h): together with
// computation they are all of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline traces {

struct RunAnalysis;

enum class LossCause : std::uint8_t {
  kCommunication,  // where calls of ranks are not matched: waiting cannot be told from transfer
  kTransfer,
  kLateRank,
  kLateMessage,
  kCopies,
  kLateLaunch,
  kSynchronisation,
  kKernelGaps,
  kUnknownIdle,
};
std::string_view to_string(LossCause cause);  // "waiting for a late rank"

struct Loss {
  LossCause cause = LossCause::kTransfer;
  Nanoseconds time = {};  // of all ranks, summed
};

struct Headline {
  std::int64_t steps = 0;
  Nanoseconds step_time = {}, shortest_step = {}, longest_step = {};
  // For one step of all ranks, where the trace says it (global_batch_size, seq_length).
  std::optional<std::int64_t> samples = {}, tokens = {};
  // Work that nodes say, over the time of the devices, summed over ranks: what one device does.
  std::optional<double> flops_per_second = {};
  Nanoseconds device_time = {};   // of all ranks, summed
  std::vector<Loss> losses = {};  // the largest first; none of no time

  // Nothing where no time has passed, or where the figure is not known.
  std::optional<double> steps_per_second() const;
  std::optional<double> samples_per_second() const;
  std::optional<double> tokens_per_second() const;
};

Headline headline_of(const RunAnalysis& run);

}  // namespace nadi::inline traces
