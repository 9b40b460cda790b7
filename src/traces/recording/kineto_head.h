// What stands before the events of a Kineto file: the device, and who took part in the run.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "nadi/parallel/plan.h"
#include "nadi/recording/executed_step.h"
#include "nadi/recording/kineto_writer.h"

namespace nadi::inline traces {

class ProcessGroups;

struct KinetoHead {
  const ExecutedDevice& device;
  std::string_view backend;  // what carries messages
  std::int64_t base = 0;     // nanoseconds since 1970 that times are counted from
  const std::set<GroupKind>& group_kinds;
  const ProcessGroups* groups = nullptr;  // nullptr means without a plan
};

// Everything up to the first event.
std::string kineto_head(const KinetoOptions& options, const KinetoHead& head);

std::string listed_ranks(std::span<const Rank> ranks);  // "[0, 2]"

}  // namespace nadi::inline traces
