// How long the stages of a pipeline take for all micro-batches of a step: the longest path through a
// schedule, as the simulator's replay has it.
//
//   PipelineLatency latency;
//   const std::span<const std::int64_t> ends = latency.of(pipeline);      // of the last backward, by chunk
//
// Every start is the largest of what it waits for: a pass for its stage, which works in the order of its
// schedule, for its message, and for its host; a message for the pass that made it, for the one before it on
// its way, and for both hosts. Messages run beside computation unless they block it. The times of passes are
// sums of ops, so that the whole is exact (PassTimes).
//
// Cost: a few nanoseconds per pass and message. A schedule with many micro-batches comes to repeat itself:
// when its state has moved on by the same time everywhere, the rest is that time for each more of them. The
// order of a schedule is worked out once and kept; nothing is allocated for one that was met before.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline predict {

// One pass of a chunk for one micro-batch. With s the time at which the stage is free, i that at which its
// message has arrived, and h that at which its host comes to it:
//   end  = max(s + run, i + after_input, h + launched)           host goes on at h + launch
struct PassTimes {
  Nanoseconds run = {};
  Nanoseconds after_input = {};  // <= run: what is recomputed first does not wait for the gradient
  Nanoseconds launched = {};     // 0 where launching takes no time
  Nanoseconds launch = {};
  bool empty = false;  // no op: what comes in goes out
};

struct PipelineStart {
  Nanoseconds busy = {};   // the stage's gradients are zeroed
  Nanoseconds issue = {};  // of its host, for a message; 0 where launching takes no time
};

// Chunks in the model's order: chunk c is on stage c % stages. Spans must stay valid during the call only.
struct PipelineTimes {
  ScheduleKind schedule = ScheduleKind::k1F1B;
  std::int64_t stages = 1, virtual_stages = 1, micro_batches = 1;
  std::span<const PassTimes> forward = {}, backward = {};  // by chunk
  std::span<const Nanoseconds> activations = {},
                               gradients = {};  // messages from and to chunk c, to and from c + 1
  std::span<const PipelineStart> starts = {};   // by stage
  bool launches = false;                        // hosts are to be looked at
  bool blocking_messages = false;               // as in OverlapOptions
  bool messages_stop_host = false;
};

// A path through a schedule, as how often it has each part. It is one for any times of the schedule: no
// pipeline with that schedule takes less than any of its paths.
struct PipelinePath {
  struct Chunk {
    // Passes that come after the one before them in their stage (PassTimes::run), and after their message.
    std::int32_t forward_run = 0, forward_after = 0, backward_run = 0, backward_after = 0;

    bool operator==(const Chunk&) const = default;
  };
  struct Piece {
    std::vector<Chunk> chunks;                         // in the model's order
    std::vector<std::int32_t> activations, gradients;  // messages, by chunk as in PipelineTimes

    bool operator==(const Piece&) const = default;
  };
  // From the end of the path to its beginning. Between two pieces the path changes from the order of a stage
  // to messages, or back, in the chunk of `turns`: where that is empty, the pieces are two paths.
  std::vector<Piece> pieces;
  std::vector<std::int32_t> turns;
  std::int32_t stage = 0;  // where it ends

  bool operator==(const PipelinePath&) const = default;
};

class PipelineLatency {
 public:
  PipelineLatency();
  ~PipelineLatency();

  struct Ends {
    std::span<const std::int64_t> backward;  // nanoseconds, by chunk: the end of its last backward pass
    std::span<const std::int64_t> host;      // by stage: when its host has launched all of that
  };
  // Valid until the next call. The schedule exists: why_no_schedule() has nothing against it.
  Ends of(const PipelineTimes& times);

  // The longest path to the end of a stage's last pass and of what follows it there, among those that turn in
  // these chunks alone. Hosts, starts and blocking messages are of no account.
  struct PathRequest {
    std::span<const char> turns = {};          // by chunk: whether it may; the model's ends must
    std::span<const std::int64_t> tails = {};  // by stage, nanoseconds
  };
  PipelinePath longest_path(const PipelineTimes& times, const PathRequest& request);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline predict
