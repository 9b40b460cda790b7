// A trace as the analyses see it: what each node is (work of the host, computation, communication, movement
// of memory), on which lane it ran, when, and what it belongs to.
//
//   const TraceDependencies dependencies(trace);
//   const Timeline timeline(trace, dependencies);
//   for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane)
//     for (std::uint32_t row : timeline.rows_of(lane)) use(timeline.start(row), timeline.end(row));
//
// Nodes with is_cpu_op are the host's, all others the device's: a node that does not say is the device's.
// Communication is what has a type of communication, and kernels of communication libraries
// (communication_kernels.h); memory is what loads or
// stores, and copies and fills of the device's memory (category gpu_memcpy, gpu_memset, or a name that starts
// with Memcpy or Memset); other nodes of the device compute.
//
// Lanes: a device's node has that of its attributes `device` and `stream`. Where it has no stream, as in
// traces of runs on CPUs, there is a lane for computation, one for communication and one for memory; nodes
// that overlap there are put on further ones, each on the first that is free. A host's node has the lane of
// its thread (`thread`, `tid`).
//
// Where the file has durations and no starts (Chakra's own converter writes such), starts are those of a
// replay; see clock().
//
// Takes 22 bytes a node, 8 more where nodes have steps and phases or layers, 16 where they have work or
// sizes. The trace and its dependencies must outlive the timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi::inline traces {

enum class Activity : std::uint8_t {
  kNone,  // metadata, and what the options leave out
  kHost,
  kCompute,
  kCommunication,
  kMemory,
};
// "host", "compute", "communication", "memory"; "none".
std::string_view to_string(Activity activity);
constexpr bool is_device(Activity activity) {
  return activity > Activity::kHost;
}

// Ops lie within each other no deeper than this in any sane trace; who walks outwards stops there.
inline constexpr int kMaxNesting = 1000;

enum class TimelineClock {
  kNone,      // no node lasts: nothing can be said about time
  kRecorded,  // starts and durations are in the trace
  kReplayed,  // durations are in the trace, starts come from a replay
};

struct Lane {
  std::string name = {};  // "stream 7", "communication 2", "thread 1234"
  bool host = false;
};

// A node that communicates: a message, a collective, or a kernel of which the trace says no more.
struct Communication {
  std::uint32_t row = 0;
  NodeType type = NodeType::kCommColl;
  std::optional<CollectiveType> collective = {};  // nothing for messages, and where it is not said
  std::uint32_t group = 0;                        // number of the text of pg_name; 0 where there is none
  std::optional<Bytes> size = {};                 // comm_size: what this rank puts in
  std::optional<std::int64_t> members = {};       // of the group, where the node says it (pg_size)
  std::optional<std::int64_t> peer = {};          // of a message: the rank at its other end
  std::optional<std::int64_t> tag = {};           // of a message
};
// "ALL_REDUCE", "SEND", "RECV", "unknown".
std::string_view kind_of(const Communication& communication);

struct TimelineOptions {
  std::optional<std::int64_t> step = {};  // only nodes of this step; nothing means all
};

inline constexpr std::uint32_t kNoRow = 0xFFFF'FFFF;

class Timeline {
 public:
  Timeline(const Trace& trace, const TraceDependencies& dependencies, const TimelineOptions& options = {});

  const Trace& trace() const { return *trace_; }
  const TraceDependencies& dependencies() const { return *dependencies_; }
  TimelineClock clock() const { return clock_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(activities_.size()); }

  Activity activity(std::uint32_t row) const { return activities_[row]; }
  Nanoseconds start(std::uint32_t row) const {
    return replayed_.empty() ? trace_->start(row) : replayed_[row];
  }
  Nanoseconds duration(std::uint32_t row) const { return trace_->duration(row); }
  Nanoseconds end(std::uint32_t row) const { return start(row) + duration(row); }
  // A node with neither start nor duration says nothing about time, where others do.
  bool has_time(std::uint32_t row) const {
    return clock_ == TimelineClock::kReplayed || start(row) != Nanoseconds{} ||
           duration(row) != Nanoseconds{};
  }
  // End of a host's node: when it ended with all that was nested in it (`inclusive_ns`); else end().
  Nanoseconds inclusive_end(std::uint32_t row) const;

  // What the node does: attribute `op` where it has one (names of our own traces hold the layer), else its
  // name. Numbers are those of the trace's texts.
  std::uint32_t label(std::uint32_t row) const { return labels_[row]; }
  std::string_view text(std::uint32_t number) const { return trace_->text(number); }
  // Number of a text, 0 where nothing is said. A node of the device that has none itself has that of the
  // host's op that encloses its launch.
  std::uint32_t phase(std::uint32_t row) const { return phases_.empty() ? 0 : phases_[row]; }
  std::uint32_t layer(std::uint32_t row) const { return layers_.empty() ? 0 : layers_[row]; }
  std::optional<std::int64_t> step(std::uint32_t row) const;
  // What nodes say; where none says its work, what follows from the shapes of the ops that launched it
  // (derived_work.h). 1 op and 1 byte together, as conversions write for simulators, mean that neither is
  // known.
  std::optional<Flops> num_ops(std::uint32_t row) const;
  std::optional<Bytes> tensor_size(std::uint32_t row) const;

  // For a host's node the op it is nested in, for a device's node the op that launched it: the first control
  // dependency on a host's node. kNoRow where there is none.
  std::uint32_t enclosing(std::uint32_t row) const { return enclosing_[row]; }
  // For a device's node the host's call that launched it: of the data dependencies on the host's nodes the
  // one that started last. kNoRow where there is none.
  std::uint32_t launch(std::uint32_t row) const { return launches_.empty() ? kNoRow : launches_[row]; }

  const std::vector<Lane>& lanes() const { return lanes_; }
  std::uint32_t lane(std::uint32_t row) const { return lane_of_[row]; }  // not of kNone
  // Nodes that have a time, in the order of their starts, then of rows.
  std::span<const std::uint32_t> rows_of(std::uint32_t lane) const {
    return {lane_rows_.data() + lane_begins_[lane], lane_begins_[lane + 1] - lane_begins_[lane]};
  }

  // Whether nodes of the device name streams, and whether some name their op, as those of our own traces do.
  bool has_streams() const { return has_streams_; }
  bool has_own_ops() const { return has_own_ops_; }

  // In the order of rows.
  std::span<const Communication> communications() const { return communications_; }

  // Steps that nodes name, ascending; of the whole trace, whatever the options.
  const std::vector<std::int64_t>& steps() const { return steps_; }

 private:
  friend class TimelineExtraction;  // fills the columns from attributes, in timeline_extraction.cpp
  void settle_clock();
  void find_relatives();
  void take_derived_work();
  void inherit(std::vector<std::uint32_t>& column) const;
  void order_lanes();
  void split_shared_lanes();

  const Trace* trace_;
  const TraceDependencies* dependencies_;
  TimelineClock clock_ = TimelineClock::kNone;
  std::vector<Nanoseconds> replayed_;
  std::vector<Activity> activities_;
  std::vector<std::uint32_t> lane_of_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint32_t> enclosing_;
  std::vector<std::uint32_t> launches_;  // empty where the trace has no host's nodes
  // Empty where no node has the attribute.
  std::vector<std::uint32_t> phases_, layers_;
  std::vector<std::int32_t> step_numbers_;           // positions in steps_; -1 means none
  std::vector<std::int64_t> num_ops_, tensor_size_;  // -1 means not said
  std::optional<std::uint32_t> inclusive_name_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> shared_lanes_;  // nodes on these may overlap, and are put on further ones
  std::vector<std::uint64_t> lane_begins_;
  std::vector<std::uint32_t> lane_rows_;
  std::vector<Communication> communications_;
  std::vector<std::int64_t> steps_;
  bool has_streams_ = false, has_own_ops_ = false;
};

}  // namespace nadi::inline traces
