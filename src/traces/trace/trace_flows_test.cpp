#include "nadi/trace/trace_flows.h"

#include <gtest/gtest.h>

#include <string>

#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

class FlowsTrace {
 public:
  TraceNode& add(std::string_view name, std::int64_t start) {
    flush();
    node_.clear();
    node_.id = TraceNodeId{trace_.size() + 1};
    node_.name = name;
    node_.start = Nanoseconds{start};
    node_.duration = Nanoseconds{5};
    pending_ = true;
    return node_;
  }

  // "ac2g 7: launch -> kernel", one a line.
  std::string flows() {
    flush();
    std::string text;
    for (const TraceFlow& flow : flows_of(trace_))
      text += std::string(flow.name) + " " + std::to_string(flow.id) + ": " +
              std::string(trace_.name(flow.from)) + " -> " + std::string(trace_.name(flow.to)) + "\n";
    return text;
  }

 private:
  void flush() {
    if (pending_) trace_.add(node_);
    pending_ = false;
  }
  Trace trace_;
  TraceNode node_;
  bool pending_ = false;
};

TEST(TraceFlows, LaunchesArePairedByCorrelation) {
  FlowsTrace trace;
  trace.add("launch", 10).attributes.add_int64("correlation", 7);
  trace.add("unlaunched", 12).attributes.add_int64("stream", 3);
  TraceNode& kernel = trace.add("kernel", 20);
  kernel.attributes.add_int64("stream", 3);
  kernel.attributes.add_int64("correlation", 7);
  TraceNode& other = trace.add("launched before the profile", 1);
  other.attributes.add_int64("stream", 3);
  other.attributes.add_int64("correlation", 6);
  EXPECT_EQ(trace.flows(), "ac2g 7: launch -> kernel\n");
}

// linear calls addmm with the same number: addmm is the op that autograd saw. The engine's frame has the
// number of the op within.
TEST(TraceFlows, BackwardOpsArePairedBySequenceNumber) {
  FlowsTrace trace;
  const auto add = [&](std::string_view name, std::int64_t start, std::int64_t sequence,
                       std::int64_t thread) {
    TraceNode& node = trace.add(name, start);
    node.attributes.add_int64("Sequence number", sequence);
    node.attributes.add_int64("Fwd thread id", thread);
  };
  add("linear", 10, 4, 0);
  add("addmm", 11, 4, 0);
  add("relu", 20, 5, 0);
  add("autograd::engine::evaluate_function: ReluBackward0", 30, 5, 1);
  add("ReluBackward0", 31, 5, 1);
  add("autograd::engine::evaluate_function: AddmmBackward0", 40, 4, 1);
  add("AddmmBackward0", 41, 4, 1);
  add("mm", 42, 4, 1);
  add("AccumulateGrad", 50, 3, 1);
  EXPECT_EQ(trace.flows(), "fwdbwd 1: relu -> ReluBackward0\nfwdbwd 2: addmm -> AddmmBackward0\n");
}

}  // namespace
}  // namespace nadi::inline traces
