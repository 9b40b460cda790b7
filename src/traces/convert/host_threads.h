// The host threads of a profile as chains of nodes.
//
// A thread's events are nested in one another. Its nodes are in the order in which the events start, each
// depending on the one before, and an op's duration is the time that it does not spend in nested events: so
// a replay of the chain takes as long as the thread did. But a stretch of an op's own time may lie behind
// nested events, which would then come too late. Of such stretches at most `moved_time` counts in the op's
// duration; the rest becomes nodes of their own ("host gap") as soon as it adds up to more than that. The
// same goes for time outside of all ops. So no event of a replayed thread is more than about `moved_time`,
// for each op that encloses it, away from where it was. That is 50 us, or 1% of a profile that is shorter
// than 5 ms.
//
// An event that overlaps the one it starts in by more than kClockSlack, without lying in it, goes on in the
// background (RecordFunction of something asynchronous): it gets a node that nothing waits for.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/convert/conversion_report.h"
#include "nadi/convert/event_lanes.h"
#include "nadi/convert/event_roles.h"
#include "nadi/convert/id_table.h"
#include "nadi/convert/link_graph.h"
#include "nadi/trace/string_table.h"

namespace nadi::inline traces {

inline constexpr Nanoseconds kMostMovedTime{50'000};
inline constexpr std::int64_t kMovedShare = 20;  // of the profile's span
inline constexpr Nanoseconds kClockSlack{1'000};

// What the passes over a profile share.
struct LinkSource {
  const KinetoTrace& kineto;
  const EventRoles& roles;
  const EventLanes& lanes;
  Nanoseconds first;  // start of the first event
  Nanoseconds moved_time;
  bool device_work;     // there are device ops
  bool host_is_device;  // see converted_trace.h
};

// Calls in which the host waited, or told a stream to wait.
struct SyncCall {
  std::uint32_t node = 0;
  EventRole role{};
};

// Annotations of communication that the host itself carries out.
struct HostCommunication {
  std::uint32_t node = 0;              // which took the time
  std::uint32_t record = kNoNode;      // record_param_comms, which says what was sent; may be the same
  std::uint32_t annotation = kNoNode;  // the row of the backend's annotation (gloo:all_reduce)
};

struct HostThreads {
  StringTable layers;
  std::vector<SyncCall> syncs;                   // in the order of nodes
  std::vector<HostCommunication> communication;  // in the order of nodes
};

// Adds the nodes of all threads, and what launches device work to `launches`, by correlation.
HostThreads link_host_threads(const LinkSource& source, LinkGraph& graph, IdTable& launches,
                              ConversionReport& report);

}  // namespace nadi::inline traces
