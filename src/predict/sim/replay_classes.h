// Which ranks do the same at the same time, and the job in which one rank stands for each class of them.
//
//   const RankClasses classes = find_classes(ranks, groups, programs, symmetry);
//   add_actors(job, ranks, groups, classes);
//
// Method: colour refinement. Ranks start with a colour by program, device, durations and times of
// communication; as long as colours split, a rank's colour is refined by the colours of the members of each
// of its groups, and of the peers of its messages. In the end, ranks of a colour run the same program in the
// same times and meet the same colours at each step. So by induction over the order of events they do the
// same at the same time, and a meeting of all members is a meeting of one rank of each of their colours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/sim/replay_job.h"

namespace nadi::inline predict {

struct ReplayRank {
  std::uint32_t program = 0;
  std::uint32_t durations = 0;
  std::uint32_t device_kind = 0;
  double compute_share = 0, busy_slowdown = 1;  // as of ReplayActor
  const MeasuredCollectives* skew = nullptr;    // the same
  std::vector<std::uint32_t> partners = {};     // by role: the group, or the rank at the other end
  std::vector<Nanoseconds> request_times = {};  // by request of the program
};

struct ReplayGroup {
  std::uint32_t tag = 0;  // of what kind it is: a rank is in one group of each kind
  std::vector<std::uint32_t> members = {};
};

struct RankClasses {
  std::vector<std::uint32_t> class_of;  // by rank; numbered by their first ranks
  std::vector<std::uint32_t> first;     // by class: its lowest rank
};

// `symmetry` = false: each rank is a class.
RankClasses find_classes(std::span<const ReplayRank> ranks, std::span<const ReplayGroup> groups,
                         std::span<const ReplayProgram> programs, bool symmetry);

// Adds an actor for each class. Throws Error (input) where a rank sends to one that never receives from it,
// or the other way round.
void add_actors(ReplayJob& job, std::span<const ReplayRank> ranks, std::span<const ReplayGroup> groups,
                const RankClasses& classes);

}  // namespace nadi::inline predict
