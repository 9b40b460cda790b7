// For tests: profiles of a few events, written down by hand as the JSON that Kineto writes. Times are
// microseconds.
//
//   Profile profile;
//   profile.op("aten::mm", {.start = 0, .length = 20});
//   profile.call("cudaLaunchKernel", {.start = 5, .length = 10}, 7);   // correlation 7
//   profile.kernel("gemm", {.start = 18, .length = 30}, 7);
//   const Converted converted = convert(profile);
//   converted.node("gemm")
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/convert/converted_trace.h"
#include "nadi/pytorch/host_trace.h"
#include "nadi/pytorch/kineto_reader.h"
#include "nadi/trace/replay.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_dependencies.h"

namespace nadi::inline traces {

struct EventTime {
  std::int64_t start = 0;
  std::int64_t length = 0;
};

class Profile {
 public:
  static constexpr int kProcess = 100;
  static constexpr int kMainThread = 100;

  // `arguments`: "\"a\": 1, \"b\": 2".
  void event(std::string_view category, std::string_view name, int process, int thread, EventTime time,
             std::string_view arguments) {
    events_ += format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}.000, "dur": {}.000, "args": {{{}}}}})",
        events_.empty() ? "" : ",\n", category, name, process, thread, time.start, time.length, arguments);
  }
  void op(std::string_view name, EventTime time, std::string_view arguments = "", int thread = kMainThread) {
    event("cpu_op", name, kProcess, thread, time, arguments);
  }
  void annotation(std::string_view name, EventTime time, std::string_view arguments = "",
                  int thread = kMainThread) {
    event("user_annotation", name, kProcess, thread, time, arguments);
  }
  void call(std::string_view name, EventTime time, int correlation, int thread = kMainThread) {
    event("cuda_runtime", name, kProcess, thread, time, format(R"("correlation": {})", correlation));
  }
  void kernel(std::string_view name, EventTime time, int correlation, int stream = 7,
              std::string_view arguments = "") {
    on_stream("kernel", name, time, correlation, stream, arguments);
  }
  void copy(std::string_view name, EventTime time, int correlation, int stream = 7) {
    on_stream("gpu_memcpy", name, time, correlation, stream, "");
  }
  void name_process(int process, std::string_view name) {
    events_ += format(
        R"({}{{"ph": "M", "name": "process_name", "pid": {}, "tid": 0, "ts": 0, "args": {{"name": "{}"}}}})",
        events_.empty() ? "" : ",\n", process, name);
  }
  // A member of the document, such as distributedInfo.
  void member(std::string_view name, std::string_view json) {
    members_ += format("\"{}\": {},\n", name, json);
  }

  std::string json() const { return format("{{{}\"traceEvents\": [\n{}\n]}}", members_, events_); }

 private:
  void on_stream(std::string_view category, std::string_view name, EventTime time, int correlation,
                 int stream, std::string_view arguments) {
    event(category, name, 0, stream, time,
          format(R"("device": 0, "stream": {}, "correlation": {}{}{})", stream, correlation,
                 arguments.empty() ? "" : ", ", arguments));
  }

  std::string members_;
  std::string events_;
};

// A conversion with all of its nodes in memory.
class Converted {
 public:
  Converted(ConversionSource source, const ConversionOptions& options = {})
      : trace_(std::move(source), groups, options) {
    TraceNode node;
    for (std::size_t row = 0; row < trace_.size(); ++row) {
      trace_.get(row, node);
      nodes.add(node);
    }
  }

  // The row of the only node of that name.
  std::size_t row(std::string_view name) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes.name(i) != name) continue;
      EXPECT_FALSE(found) << "two nodes are called " << name;
      found = i;
    }
    EXPECT_TRUE(found) << "no node is called " << name;
    return found.value_or(0);
  }
  std::int64_t microseconds(std::string_view name) const { return nodes.duration(row(name)).count() / 1000; }

  // Names of what a node depends on, in the order of its file.
  std::vector<std::string> data_deps(std::string_view name) const {
    return names(nodes.data_deps(row(name)));
  }
  std::vector<std::string> ctrl_deps(std::string_view name) const {
    return names(nodes.ctrl_deps(row(name)));
  }

  std::optional<std::string> text(std::string_view name, std::string_view attribute) const {
    const auto found = nodes.find_attribute(row(name), attribute);
    return found ? std::optional(std::string(found->string().value_or("?"))) : std::nullopt;
  }
  std::optional<std::int64_t> number(std::string_view name, std::string_view attribute) const {
    const auto found = nodes.find_attribute(row(name), attribute);
    return found ? found->integer() : std::nullopt;
  }

  // When a replay starts it, in microseconds.
  std::int64_t replayed(std::string_view name) const {
    return replay_trace(nodes, TraceDependencies(nodes)).starts[row(name)].count() / 1000;
  }

  const ConversionReport& report() const { return trace_.report(); }
  GlobalMetadata metadata() const { return trace_.metadata(); }

  GroupNumbers groups;
  Trace nodes;

 private:
  std::vector<std::string> names(std::span<const TraceNodeId> ids) const {
    std::vector<std::string> result;
    for (const TraceNodeId id : ids)
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (nodes.id(i) == id) result.emplace_back(nodes.name(i));
    return result;
  }

  ConvertedTrace trace_;
};

inline std::shared_ptr<const KinetoTrace> read(const Profile& profile) {
  return std::make_shared<const KinetoTrace>(read_kineto(profile.json(), "profile.json"));
}
// What is shorter than 50 us is moved, as in the conversion of a long profile.
inline Converted convert(const Profile& profile, ConversionOptions options = {}) {
  options.moved_time = options.moved_time.value_or(kMostMovedTime);
  return Converted({.kineto = read(profile)}, options);
}

}  // namespace nadi::inline traces
