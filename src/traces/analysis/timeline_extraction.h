// Fills a timeline's columns with what the attributes of the nodes say, in one pass over all attributes.
// Internal to timeline.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/analysis/timeline.h"

namespace nadi::inline traces {

class TimelineExtraction {
 public:
  TimelineExtraction(Timeline& timeline, const TimelineOptions& options);
  void run();

 private:
  // What is wanted of a node's attributes.
  struct NodeFacts {
    bool is_cpu_op = false;
    std::optional<std::int64_t> step, device, stream, num_ops, tensor_size, comm_size, comm_type, members,
        source, destination, tag, fused_into;
    std::uint32_t op = 0, phase = 0, layer = 0, group = 0;
    std::string_view category, thread;
    std::int64_t thread_number = 0;
  };
  using Taker = void (*)(TimelineExtraction&, const TraceAttribute&, NodeFacts&);

  void read(std::uint32_t row, NodeFacts& facts);
  void add(std::uint32_t row, const NodeFacts& facts);
  bool add_to_kernel(std::uint32_t row, const NodeFacts& facts);
  Activity activity_of(std::uint32_t row, const NodeFacts& facts);
  std::uint32_t lane_of(Activity activity, const NodeFacts& facts);
  std::int32_t step_number(std::int64_t step);
  std::uint32_t number_of(std::string_view text) const;

  Timeline& timeline_;
  const Trace& trace_;
  const TimelineOptions& options_;
  // By the address of the attribute's name: a trace keeps each text once. nullptr: not wanted.
  std::unordered_map<const char*, Taker> takers_;
  // By number of the name: what a kernel of that name does; kNone: not looked at yet.
  std::unordered_map<std::uint32_t, Activity> kernels_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> streams_;  // lanes by device and stream
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> threads_;
  std::map<Activity, std::uint32_t> shared_;
  std::map<std::int64_t, std::int32_t> steps_;  // in the order of appearance
};

}  // namespace nadi::inline traces
