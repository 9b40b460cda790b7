// For tests: parts of a profile that was recorded as a whole, as a profiler that starts later, or sees less,
// would have written them.
//
//   const KinetoTrace late = cut_profile(kineto, [&](std::uint32_t row) { return begins_after(kineto, row,
//   t); }); const HostTrace host = cut_host(host, late);
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_trace.h"

namespace nadi::inline traces {

inline bool is_call_for_tests(const KinetoTrace& kineto, std::uint32_t row) {
  return kineto.category[row] == KinetoCategory::kRuntime || kineto.category[row] == KinetoCategory::kDriver;
}

// The events that are kept, without their correlation and external id where `forget` says so.
inline KinetoTrace cut_profile(
    const KinetoTrace& whole, const std::function<bool(std::uint32_t row)>& keep,
    const std::function<bool(std::uint32_t row)>& forget = [](std::uint32_t) { return false; }) {
  KinetoTrace cut;
  cut.file = whole.file;
  cut.base_time = whole.base_time;
  cut.rank = whole.rank;
  cut.world_size = whole.world_size;
  cut.groups = whole.groups;
  cut.lanes = whole.lanes;
  TraceNode node;
  for (std::uint32_t row = 0; row < whole.events.size(); ++row) {
    if (!keep(row)) continue;
    whole.events.get(row, node);
    node.id = TraceNodeId{cut.events.size()};
    cut.events.add(node);
    cut.category.push_back(whole.category[row]);
    cut.lane.push_back(whole.lane[row]);
    cut.correlation.push_back(forget(row) ? 0 : whole.correlation[row]);
    cut.external_id.push_back(forget(row) ? 0 : whole.external_id[row]);
    cut.record_function.push_back(whole.record_function[row]);
  }
  return cut;
}

// Without the nodes whose events are in `whole` and not in `cut`.
inline HostTrace cut_host(const HostTrace& host, const KinetoTrace& whole, const KinetoTrace& cut) {
  std::set<std::uint64_t> gone(whole.record_function.begin(), whole.record_function.end());
  for (const std::uint64_t kept : cut.record_function) gone.erase(kept);
  gone.erase(0);
  HostTrace result;
  result.file = host.file;
  result.schema = host.schema;
  result.process = host.process;
  result.groups = host.groups;
  TraceNode node;
  for (std::size_t row = 0; row < host.nodes.size(); ++row) {
    if (gone.contains(host.record_function[row])) continue;
    host.nodes.get(row, node);
    result.nodes.add(node);
    result.record_function.push_back(host.record_function[row]);
    result.thread.push_back(host.thread[row]);
  }
  return result;
}

}  // namespace nadi::inline traces
