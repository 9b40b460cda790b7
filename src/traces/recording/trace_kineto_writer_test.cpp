#include "nadi/recording/trace_kineto_writer.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline traces {
namespace {

struct Written {
  TraceKinetoCounts counts;
  Json document;

  // The event of that phase with that name.
  const Json& event(std::string_view name, std::string_view phase = "X") const {
    for (const Json& event : document["traceEvents"])
      if (event["name"] == name && event["ph"] == phase) return event;
    ADD_FAILURE() << "no event " << name;
    return document;
  }
};

Written write(const Trace& trace, const TraceKinetoOptions& options = {}) {
  std::string text;
  Written written;
  written.counts = write_trace_kineto(trace, options, [&](std::string_view part) { text += part; });
  written.document = Json::parse(text);
  return written;
}

void begin(TraceNode& node, std::uint64_t id, std::string_view name, std::int64_t start,
           std::int64_t duration) {
  node.clear();
  node.id = TraceNodeId{id};
  node.name = name;
  node.type = NodeType::kComp;
  node.start = Nanoseconds{start};
  node.duration = Nanoseconds{duration};
}

// A host op of 10 us that contains a launch of 2 us, the kernel, and what was not recorded.
Trace pytorch_trace() {
  Trace trace;
  TraceNode node;
  begin(node, 1, "aten::mm", 1'000'001, 8'000);
  add_is_cpu_op(node, true);
  node.attributes.add_text("category", "cpu_op");
  node.attributes.add_int64("tid", 7);
  node.attributes.add_int64("inclusive_ns", 10'000);
  node.inputs = {.values = R"(["", "1"])", .shapes = "[[8, 8], []]", .types = "['not JSON']"};
  trace.add(node);
  begin(node, 2, "cudaLaunchKernel", 1'004'000, 2'000);
  add_is_cpu_op(node, true);
  node.attributes.add_text("category", "cuda_runtime");
  node.attributes.add_int64("tid", 7);
  node.ctrl_deps = {TraceNodeId{1}};
  trace.add(node);
  begin(node, 3, "gemm \"x\"", 1'020'000, 5'500);
  add_is_cpu_op(node, false);
  node.attributes.add_int64("stream", 20);
  node.attributes.add_int64("device", 1);
  node.data_deps = {TraceNodeId{2}, TraceNodeId{99}};
  trace.add(node);
  begin(node, 4, "host gap", 1'011'000, 3'000);
  add_is_cpu_op(node, true);
  node.attributes.add_text("category", "host_gap");
  trace.add(node);
  trace.metadata.attributes.add_int64("rank", 3);
  return trace;
}

TEST(TraceKinetoWriter, PutsHostOpsOnThreadsAndKernelsOnStreams) {
  const Written written = write(pytorch_trace(), {.trace_name = "run"});
  EXPECT_EQ(written.counts.events, 3u);
  EXPECT_EQ(written.counts.left_out, 1u);
  EXPECT_EQ(written.counts.flows, 0u);
  EXPECT_EQ(written.document["traceName"], "run");
  const Json& op = written.event("aten::mm");
  EXPECT_EQ(op["cat"], "cpu_op");
  EXPECT_EQ(op["pid"], 1003) << "rank 3, behind the numbers of devices";
  EXPECT_EQ(op["tid"], 7);
  EXPECT_EQ(op["ts"], 1000.001);
  EXPECT_EQ(op["dur"], 10.0) << "as long as it ran with what it contains";
  EXPECT_EQ(op["args"]["node"], 1);
  EXPECT_EQ(op["args"]["Concrete Inputs"], Json::parse(R"(["", "1"])"));
  EXPECT_EQ(op["args"]["Input Dims"], Json::parse("[[8, 8], []]"));
  EXPECT_FALSE(op["args"].contains("Input type"));
  EXPECT_EQ(written.event("cudaLaunchKernel")["cat"], "cuda_runtime");
  const Json& kernel = written.event("gemm \"x\"");
  EXPECT_EQ(kernel["cat"], "kernel");
  EXPECT_EQ(kernel["pid"], 1);
  EXPECT_EQ(kernel["tid"], 20);
  EXPECT_EQ(kernel["dur"], 5.5);
}

TEST(TraceKinetoWriter, DrawsDependenciesWhereAsked) {
  const Written written = write(pytorch_trace(), {.dependencies = true});
  EXPECT_EQ(written.counts.flows, 2u);
  const Json& from = written.event("data", "s");
  const Json& to = written.event("data", "f");
  EXPECT_EQ(from["id"], to["id"]);
  EXPECT_EQ(from["ts"], 1004.0);
  EXPECT_EQ(to["ts"], 1020.0);
  EXPECT_EQ(to["tid"], 20);
}

// Two collectives overlap, so that the second needs a lane of its own; the third does not.
TEST(TraceKinetoWriter, MakesLanesForWhatSaysNothingAboutIt) {
  Trace trace;
  TraceNode node;
  const auto add = [&](std::uint64_t id, std::string_view name, NodeType type, std::int64_t start,
                       std::int64_t duration) {
    begin(node, id, name, start, duration);
    node.type = type;
    trace.add(node);
  };
  add(1, "mm", NodeType::kComp, 1000, 5000);
  add(2, "second", NodeType::kCommColl, 3000, 4000);
  add(3, "first", NodeType::kCommColl, 1000, 4000);
  add(4, "third", NodeType::kCommColl, 5000, 1000);
  add(5, "load", NodeType::kMemLoad, 5000, 1000);
  add(6, "no time", NodeType::kComp, 0, 0);
  const Written written = write(trace);
  EXPECT_EQ(written.counts.left_out, 1u);
  EXPECT_EQ(written.event("first")["tid"], written.event("third")["tid"]);
  EXPECT_NE(written.event("first")["tid"], written.event("second")["tid"]);
  EXPECT_NE(written.event("mm")["tid"], written.event("load")["tid"]);
  std::vector<std::string> names;
  for (const Json& event : written.document["traceEvents"])
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"compute 1", "communication 1", "communication 2", "memory 1"}));
}

// What HTA needs: no event of the host has process or thread 0, which are a GPU's.
TEST(TraceKinetoWriter, KeepsProcessNamesAndTheBaseOfTimes) {
  Trace trace = pytorch_trace();
  trace.metadata.attributes.add_int64("process", 402);
  trace.metadata.attributes.add_text("process_name", "python3");
  trace.metadata.attributes.add_text("thread_names", R"-({"7": "thread 7 (pt_autograd_0)"})-");
  trace.metadata.attributes.add_int64("base_time_ns", 1'711'964'646'000'000'000);
  trace.metadata.attributes.add_int64("world_size", 4);
  const Written written = write(trace);
  EXPECT_EQ(written.document["baseTimeNanoseconds"], 1'711'964'646'000'000'000);
  EXPECT_EQ(written.document["distributedInfo"].dump(), R"({"rank":3,"world_size":4})");
  EXPECT_EQ(written.event("aten::mm")["pid"], 402);
  std::vector<std::string> named;
  for (const Json& event : written.document["traceEvents"])
    if (event["ph"] == "M")
      named.push_back(event["name"].get<std::string>() + " " + event["pid"].dump() + " " +
                      event["tid"].dump() + " " + event["args"].begin()->dump());
  EXPECT_EQ(named, (std::vector<std::string>{
                       R"(process_name 402 0 "python3")", R"(process_labels 402 0 "CPU")",
                       R"(process_sort_index 402 0 402)", R"(process_name 1 0 "python3")",
                       R"(process_labels 1 0 "GPU 1")", R"(process_sort_index 1 0 5000001)",
                       R"-(thread_name 402 7 "thread 7 (pt_autograd_0)")-", R"(thread_sort_index 402 7 7)",
                       R"(thread_name 1 20 "stream 20")", R"(thread_sort_index 1 20 20)"}));
}

// The launch ends with the op around it: it ends 2 ns before that, in the file as well as in doubles.
TEST(TraceKinetoWriter, EventsEndInsideThoseAroundThem) {
  Trace trace;
  TraceNode node;
  const std::int64_t start = 4'433'481'000'000'001;
  begin(node, 1, "aten::mm", start, 8'000);
  add_is_cpu_op(node, true);
  node.attributes.add_int64("inclusive_ns", 10'000);
  trace.add(node);
  begin(node, 2, "cudaLaunchKernel", start + 8'000, 2'000);
  add_is_cpu_op(node, true);
  trace.add(node);
  const Written written = write(trace);
  const Json &op = written.event("aten::mm"), &launch = written.event("cudaLaunchKernel");
  EXPECT_EQ(op["dur"], 10.002);
  EXPECT_EQ(launch["dur"], 2.0);
  EXPECT_LT(launch["ts"].get<double>() + launch["dur"].get<double>(),
            op["ts"].get<double>() + op["dur"].get<double>());
}

TEST(TraceKinetoWriter, DrawsTheArrowsOfTheProfile) {
  Trace trace = pytorch_trace();
  TraceNode node;
  begin(node, 5, "cudaLaunchKernel", 1'030'000, 2'000);
  add_is_cpu_op(node, true);
  node.attributes.add_int64("correlation", 77);
  trace.add(node);
  begin(node, 6, "gemm", 1'040'000, 2'000);
  node.attributes.add_int64("stream", 20);
  node.attributes.add_int64("correlation", 77);
  trace.add(node);
  const Written written = write(trace);
  EXPECT_EQ(written.counts.links, 1u);
  const Json &from = written.event("ac2g", "s"), &to = written.event("ac2g", "f");
  EXPECT_EQ(from["cat"], "ac2g");
  EXPECT_EQ(from["id"], 77);
  EXPECT_EQ(from["ts"], 1030.0);
  EXPECT_EQ(to["id"], 77);
  EXPECT_EQ(to["ts"], 1040.0);
  EXPECT_EQ(to["pid"], 0);
  EXPECT_EQ(to["tid"], 20);
  EXPECT_EQ(to["bp"], "e");
}

TEST(TraceKinetoWriter, RefusesATraceWithoutTimes) {
  Trace trace;
  TraceNode node;
  begin(node, 1, "a", 0, 0);
  trace.add(node);
  EXPECT_THROW(write(trace), Error);
}

}  // namespace
}  // namespace nadi::inline traces
