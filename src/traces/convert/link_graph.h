// The nodes of a trace while it is being made from a profile: which events they stand for and what they wait
// for, as columns of small numbers. The events themselves stay where they were read.
//
// A node of a host thread or of a stream lies behind those that ran there before it, and all nodes of a
// thread or stream are next to one another: a Lane. Time within a lane does not go back.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

inline constexpr std::uint32_t kNoNode = 0xffff'ffff;

enum class LinkedKind : std::uint8_t {
  kHost,    // an event of a host thread
  kDevice,  // kernel, copy, memset
  kGap,  // time of a thread, or before a kernel without a launch, in which no event tells what the host did
  kHostNode,  // a node of the host's trace that the profile does not have
};

// As shown in `phase`.
enum class TrainingPhase : std::uint8_t { kUnknown, kForward, kBackward, kOptimizer };

struct LinkedLane {
  std::uint32_t lane = 0;   // of the profile
  std::uint32_t begin = 0;  // nodes
  std::uint32_t end = 0;
  bool device = false;
  bool has_ops = false;  // ops or annotations, and not only calls of the runtime
};

struct LinkedGap {
  Nanoseconds start;
  Nanoseconds end;
  std::uint32_t lane = 0;  // of the profile
  bool first = false;      // before the first event of its thread
};

// A node waits for another that is not the one before it, its launch or its caller.
struct LinkedWait {
  std::uint32_t node = 0;
  std::uint32_t awaited = 0;
  bool inferred = false;  // told by times, and not by ids of the profile
  friend auto operator<=>(const LinkedWait&, const LinkedWait&) = default;
};

// A call or a gap that waited: its duration is only what came after the wait.
struct ShortenedNode {
  std::uint32_t node = 0;
  Nanoseconds whole;  // what it would last without the wait
  friend auto operator<=>(const ShortenedNode&, const ShortenedNode&) = default;
};

struct LinkGraph {
  // By node.
  std::vector<LinkedKind> kind;
  std::vector<std::uint32_t> row;     // of the profile; of a gap: in `gaps`; kHostNode: of the host's trace
  std::vector<Nanoseconds> duration;  // for the replay: of a host op without what is nested in it
  std::vector<std::uint32_t> parent;  // the op that encloses it, or kNoNode: control dependency
  std::vector<std::uint32_t> before;  // the node before it on its thread or stream
  std::vector<std::uint32_t> launch;  // kDevice: the call that launched it; kGap: what it waited for
  std::vector<TrainingPhase> phase;
  std::vector<std::uint32_t> layer;  // in the layers' table, 0 for none; empty unless has_layers

  bool has_layers = false;  // modules were recorded

  std::vector<LinkedGap> gaps;
  std::vector<LinkedLane> lanes;
  std::vector<LinkedWait> waits;         // sorted by sort_waits()
  std::vector<bool> has_waits;           // by node
  std::vector<ShortenedNode> shortened;  // sorted by sort_waits()

  std::uint32_t size() const { return static_cast<std::uint32_t>(kind.size()); }

  std::uint32_t add(LinkedKind node_kind, std::uint32_t node_row, Nanoseconds lasts, std::uint32_t enclosing,
                    std::uint32_t previous) {
    kind.push_back(node_kind);
    row.push_back(node_row);
    duration.push_back(lasts);
    parent.push_back(enclosing);
    before.push_back(previous);
    launch.push_back(kNoNode);
    phase.push_back(TrainingPhase::kUnknown);
    return size() - 1;
  }

  // When it began, as recorded; 0 for nodes without times.
  Nanoseconds start(std::uint32_t node, const KinetoTrace& kineto) const {
    switch (kind[node]) {
      case LinkedKind::kHost:
      case LinkedKind::kDevice:
        return kineto.events.start(row[node]);
      case LinkedKind::kGap:
        return gaps[row[node]].start;
      case LinkedKind::kHostNode:
        break;
    }
    return {};
  }

  // When the event of a node ended.
  Nanoseconds event_end(std::uint32_t node, const KinetoTrace& kineto) const {
    return kineto.events.start(row[node]) + kineto.events.duration(row[node]);
  }

  // The node waits, and lasts only `lasts`.
  void shorten(std::uint32_t node, Nanoseconds lasts) {
    shortened.push_back({.node = node, .whole = duration[node]});
    duration[node] = lasts;
  }

  // What the profile's ids say counts for a wait that is both; of a node that was shortened twice, the first.
  void sort_waits();
  // After sort_waits().
  std::span<const LinkedWait> waits_of(std::uint32_t node) const;
  std::span<LinkedWait> waits_of(std::uint32_t node);
  // What the node would last if it had not waited; nothing of a node that did not. After sort_waits().
  std::optional<Nanoseconds> whole_duration(std::uint32_t node) const;
};

}  // namespace nadi::inline traces
