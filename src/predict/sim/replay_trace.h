// The trace of a rank as the replay wants it.
//
//   const TraceReplay replay = flatten_trace(trace, {.file = "run.0.et"});
//
// Every row becomes a node, so that dependencies pass through metadata too. A node of the device has the
// stream that the trace names, else computation has one stream and communication and memory have none; nodes
// of the host have their thread. Streams take what is ready first, in the order of rows; computation of our
// own traces, which have the order of their program, runs in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/sim/op_work.h"
#include "nadi/sim/replay_job.h"
#include "nadi/sim/simulation.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_check.h"

namespace nadi::inline predict {

struct TraceOp {
  Nanoseconds recorded = {};
  std::int32_t work = -1;  // position in TraceReplay::works; -1 means not known
  bool counts = true;      // computation: not the host's, nor metadata
};

struct TraceRole {
  ReplayRoleKind kind{};
  std::string group = {};                    // pg_name, of collectives
  std::optional<std::int64_t> members = {};  // of the group, where nodes say it
  std::int64_t peer = 0;                     // of messages
};

struct TraceReplay {
  ReplayProgram replay;             // a request for each communication
  std::vector<std::uint32_t> rows;  // by node
  std::vector<TraceOp> ops;
  std::vector<OpWork> works;
  std::vector<TraceRole> roles;
  std::vector<Nanoseconds> recorded_requests;  // by request: 0 where there is none
  std::vector<char> sized;                     // by request: whether its size is known
  std::vector<CommunicationShare> shares;
  std::vector<std::string> names;  // by communication
  bool has_times = false;
};

// Throws Error (input) as TraceDependencies does.
// As ASTRA-sim has it: of a rank one computation runs at a time and one collective or message that it sends,
// those that are ready in the order of the program.
void communicate_one_at_a_time(ReplayProgram& program);

TraceReplay flatten_trace(const Trace& trace, const TraceOrigin& origin = {});

}  // namespace nadi::inline predict
