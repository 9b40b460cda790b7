// For tests: traces written down node by node, and random ones whose figures a plain method can find.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "nadi/analysis/timeline.h"
#include "nadi/trace/common_attributes.h"

namespace nadi::inline traces {

struct NodeForTests {
  std::uint64_t id = 0;
  std::string name = "n";
  std::int64_t start = 0;
  std::int64_t end = 0;
  NodeType type = NodeType::kComp;
  std::vector<std::uint64_t> data = {};
  std::vector<std::uint64_t> ctrl = {};
  bool host = false;
  std::int64_t stream = -1;     // none
  std::int64_t inclusive = -1;  // not said
  std::function<void(TraceNode&)> more = {};
};

// With all that it needs.
struct TimelineForTests {
  std::unique_ptr<Trace> trace;
  std::unique_ptr<TraceDependencies> dependencies;
  std::unique_ptr<Timeline> timeline;

  const Timeline& operator*() const { return *timeline; }
  const Timeline* operator->() const { return timeline.get(); }
};

inline void fill_for_tests(const NodeForTests& test, TraceNode& node) {
  node.clear();
  node.id = TraceNodeId{test.id};
  node.name = node.keep(test.name);
  node.type = test.type;
  node.start = Nanoseconds{test.start};
  node.duration = Nanoseconds{test.end - test.start};
  for (const std::uint64_t id : test.data) node.data_deps.push_back(TraceNodeId{id});
  for (const std::uint64_t id : test.ctrl) node.ctrl_deps.push_back(TraceNodeId{id});
  add_is_cpu_op(node, test.host);
  if (test.stream >= 0) node.attributes.add_int64("stream", test.stream);
  if (test.inclusive >= 0) node.attributes.add_int64("inclusive_ns", test.inclusive);
  if (test.more) test.more(node);
}

inline std::unique_ptr<Trace> trace_for_tests(const std::vector<NodeForTests>& nodes) {
  auto trace = std::make_unique<Trace>();
  TraceNode node;
  for (const NodeForTests& test : nodes) {
    fill_for_tests(test, node);
    trace->add(node);
  }
  return trace;
}

inline TimelineForTests timeline_for_tests(const std::vector<NodeForTests>& nodes,
                                           const TimelineOptions& options = {}) {
  TimelineForTests result;
  result.trace = trace_for_tests(nodes);
  result.dependencies = std::make_unique<TraceDependencies>(*result.trace);
  result.timeline = std::make_unique<Timeline>(*result.trace, *result.dependencies, options);
  return result;
}

inline std::function<void(TraceNode&)> collective_for_tests(CollectiveType type, std::int64_t bytes,
                                                            std::uint32_t group) {
  return [=](TraceNode& node) {
    add_comm_type(node, type);
    add_comm_size(node, Bytes{bytes});
    add_process_group(node, group);
  };
}

// Nodes of the device on a few streams, each with dependencies on some that started before; times below
// `horizon`. On a stream they may overlap, as they do in damaged traces.
inline std::vector<NodeForTests> random_device_nodes(std::uint64_t seed, std::uint64_t count,
                                                     std::uint64_t horizon) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  std::vector<NodeForTests> nodes;
  for (std::uint64_t id = 1; id <= count; ++id) {
    NodeForTests node{.id = id, .name = "op" + std::to_string(below(4))};
    node.start = 1 + static_cast<std::int64_t>(below(horizon));
    node.end = node.start + static_cast<std::int64_t>(below(horizon / 8 + 1));
    node.stream = static_cast<std::int64_t>(below(3));
    const std::uint64_t kind = below(4);
    if (kind == 0) {
      node.type = NodeType::kCommColl;
      node.more = collective_for_tests(CollectiveType::kAllReduce, 64, static_cast<std::uint32_t>(below(2)));
    }
    if (kind == 1) node.type = NodeType::kMemLoad;
    for (std::uint64_t n = below(3); n > 0 && id > 1; --n) node.data.push_back(1 + below(id - 1));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace nadi::inline traces
