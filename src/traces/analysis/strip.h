// A small picture of a run: what each rank did when, and where the critical path went, in a bounded number
// of boxes, however many nodes the traces have.
//
//   RankStrip strip = strip_of(timeline, rank, offset);     // of one rank, while its trace is in memory
//   add_path(strips, path);                                 // stretches of the critical path
//   fit_strips(strips);                                     // the same with at most kMaxBoxes boxes
//
// A box stands for nodes of one lane that follow each other at less than the resolution, a fixed part of the
// time shown. A rank has a lane for the host, computation, communication and memory, and one for its part of
// the critical path. Boxes of a lane are in the order of time and do not overlap. The time of a box in which
// none of its nodes ran is `end - start - busy`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/analysis/critical_path.h"
#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

struct StripBox {
  Nanoseconds start = {}, end = {};
  Nanoseconds busy = {};     // while at least one node ran
  Nanoseconds longest = {};  // the duration of the node that gives the box its name and activity
  std::int64_t nodes = 0;
  std::uint32_t name = 0;  // position in RankStrip::names
  Activity activity = Activity::kNone;
};

struct RankStrip {
  std::int64_t rank = 0;
  std::vector<std::string> names = {};
  std::vector<StripBox> host = {}, compute = {}, communication = {}, memory = {};
  std::vector<StripBox> path = {};  // of any activity; kNone where the path waited

  std::size_t boxes() const {
    return host.size() + compute.size() + communication.size() + memory.size() + path.size();
  }
};

// Where a critical path goes from one rank to another.
struct StripCrossing {
  std::int64_t from = 0, to = 0;  // ranks, in the order of time
  Nanoseconds at = {};
};

struct Strips {
  std::vector<RankStrip> ranks = {};          // by rank
  std::vector<StripCrossing> crossings = {};  // in the order of time; some are left out where there are many
  std::int64_t ranks_left_out = 0;            // those that the critical path touches least
};

inline constexpr std::size_t kMaxStripBoxes = 20'000;
inline constexpr std::size_t kMaxStripRanks = 64;

// Needs times; `clock_offset` is added to all of them (rank_calls.h).
RankStrip strip_of(const Timeline& timeline, std::int64_t rank, Nanoseconds clock_offset = {});

// Adds the stretches of a path to the strips of its ranks, which are in the order of ranks.
void add_path(Strips& strips, const CriticalPath& path);

// Joins boxes until there are at most `most`, and keeps at most kMaxStripRanks ranks.
void fit_strips(Strips& strips, std::size_t most = kMaxStripBoxes);

}  // namespace nadi::inline traces
