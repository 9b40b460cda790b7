// What a conversion did with its input, in numbers. Everything that was dropped, guessed or could not be
// matched is counted here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

inline constexpr std::size_t kKinetoCategoryCount = static_cast<std::size_t>(KinetoCategory::kOther) + 1;

// What told which event is which node of the host's trace.
enum class MatchedBy : std::uint8_t { kRecordFunction, kExternalId, kOrder };

struct ConversionReport {
  // Nodes of the host's trace, where there is one.
  std::uint64_t host_nodes = 0;
  std::uint64_t matched = 0;         // that have an event, and so times
  std::uint64_t unmatched_host = 0;  // that have none
  std::uint64_t unmatched_events =
      0;  // ops and annotations of the profile that the host's trace does not have
  std::uint64_t removed_dependencies = 0;  // on nodes that the host's trace does not have
  MatchedBy matched_by = MatchedBy::kRecordFunction;
  std::uint64_t places = 0;  // in which the host's trace fits the profile, where that is more than one

  // Events of the profile by category: those that became nodes, and those that did not.
  std::array<std::uint64_t, kKinetoCategoryCount> taken = {};
  std::array<std::uint64_t, kKinetoCategoryCount> dropped = {};
  // By the name that the file gives them: device ops whose category is none of a GPU's, and events of no
  // known kind, which are dropped.
  std::map<std::string, std::uint64_t> device_categories = {};
  std::map<std::string, std::uint64_t> unknown_categories = {};

  // Device ops, by how their launch was found.
  std::uint64_t by_correlation = 0;
  std::uint64_t by_external_id = 0;
  std::uint64_t without_launch = 0;  // launched before the profile began, or where it did not look

  // Calls that waited for the device, and waits of one stream for another: what they waited for was recorded
  // (cuda_sync events), or inferred from times.
  std::uint64_t recorded_syncs = 0;
  std::uint64_t inferred_syncs = 0;
  // Device ops that started late while other streams kept the device busy, and are taken to have waited.
  std::uint64_t held_up = 0;

  // Dependencies that were left out, since with them nodes would wait for one another in a circle.
  std::uint64_t yielded_inferred = 0;  // told by times
  std::uint64_t yielded_recorded = 0;  // told by ids

  std::uint64_t gaps = 0;         // nodes "host gap" of threads
  std::uint64_t waits = 0;        // those of them that wait for another thread
  std::uint64_t device_gaps = 0;  // nodes "host gap" before device ops, for work of before the profile
  std::uint64_t background = 0;   // events that overlap the one that they start in

  std::uint64_t collectives = 0;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t unknown_communication =
      0;                                // kernels of a communication library of which nothing more is known
  std::uint64_t without_device_op = 0;  // collectives that launched nothing: there was nobody to talk to
  std::uint64_t unknown_groups = 0;     // process groups whose members are not known
  std::uint64_t unknown_sizes = 0;      // collectives and messages whose size is not said: comm_size 0

  // Kernels, copies and memsets whose work was asked for: what they do is known, or nothing tells it.
  std::uint64_t with_work = 0;
  std::uint64_t without_work = 0;

  std::uint64_t nodes = 0;
  std::uint64_t control_edges = 0;
  std::uint64_t data_edges = 0;
  Nanoseconds span;  // from the first start to the last end
};

// Why events of a category are no nodes: "frames of Python code". "" for those that are.
std::string_view dropped_because(KinetoCategory category);

}  // namespace nadi::inline traces
