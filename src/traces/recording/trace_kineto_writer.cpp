// Two passes over the nodes: the first gives each its lane, the second writes the events. Lanes of nodes that
// say nothing about theirs are filled greedily in the order of start times: a node goes into the first lane
// of its class that is free when it starts.
#include "nadi/recording/trace_kineto_writer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/read_number.h"
#include "nadi/chakra/json_output.h"
#include "nadi/recording/span_nesting.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_flows.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

constexpr std::uint32_t kNoLane = ~std::uint32_t{0};

enum class LaneKind : std::uint8_t { kThread, kStream, kCompute, kCommunication, kMemory };
constexpr std::array<std::string_view, 5> kLaneNames{"thread", "stream", "compute", "communication",
                                                     "memory"};
// Threads of PyTorch's traces have small numbers or those of the operating system; classes of nodes are shown
// behind the former.
constexpr std::int64_t kFirstClassThread = 1000;
constexpr std::int64_t kThreadsPerClass = 1000;
// For traces that do not say in which process they were recorded: behind the numbers of devices.
constexpr std::int64_t kFirstProcess = 1000;
// Where Kineto's traces sort devices: below all processes.
constexpr std::int64_t kFirstDeviceSortIndex = 5'000'000;

struct Lane {
  LaneKind kind = LaneKind::kThread;
  std::int64_t process = 0;  // of a stream: the device
  std::int64_t thread = 0;
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

LaneKind class_of(NodeType type) {
  switch (type) {
    case NodeType::kCommSend:
    case NodeType::kCommRecv:
    case NodeType::kCommColl:
      return LaneKind::kCommunication;
    case NodeType::kMemLoad:
    case NodeType::kMemStore:
      return LaneKind::kMemory;
    case NodeType::kInvalid:
    case NodeType::kMetadata:
    case NodeType::kComp:
      return LaneKind::kCompute;
  }
  unreachable();
}

struct FlowName {
  std::string_view category;
  std::string_view name;
  std::uint64_t id = 0;
};

class TraceKinetoFile {
 public:
  TraceKinetoFile(const Trace& trace, const TraceKinetoOptions& options, const ByteSink& sink)
      : trace_(trace), options_(options), sink_(sink), lane_of_(trace.size(), kNoLane) {
    rank_ = metadata_integer("rank");
    process_ = metadata_integer("process").value_or(kFirstProcess + rank_.value_or(0));
  }

  TraceKinetoCounts write() {
    choose_lanes();
    if (counts_.left_out == trace_.size())
      throw Error{ErrorKind::kInput,
                  {},
                  "no node of the trace has a time, so that there is no timeline to write",
                  "traces of runs and of simulations have times; 'nadi trace' writes none"};
    choose_ends();
    head();
    name_processes();
    name_lanes();
    for (std::size_t row = 0; row < trace_.size(); ++row)
      if (lane_of_[row] != kNoLane) put_event(row);
    put_flows();
    if (options_.dependencies) put_dependencies();
    out_ += "\n  ],\n  \"traceName\": ";
    append_json_text(out_, options_.trace_name);
    out_ += "\n}\n";
    sink_(out_);
    return counts_;
  }

 private:
  std::optional<std::int64_t> integer(std::size_t row, std::string_view name) const {
    const std::optional<TraceAttribute> attribute = trace_.find_attribute(row, name);
    return attribute ? attribute->integer() : std::nullopt;
  }

  bool is_gap(std::size_t row) const {
    const std::optional<TraceAttribute> category = trace_.find_attribute(row, "category");
    return category && category->string() == "host_gap";
  }

  void choose_lanes() {
    std::vector<std::uint32_t> unplaced;
    for (std::uint32_t row = 0; row < trace_.size(); ++row) {
      const bool has_time = trace_.start(row) != Nanoseconds{} || trace_.duration(row) != Nanoseconds{};
      if (!has_time || is_gap(row)) {
        ++counts_.left_out;
      } else if (const std::optional<std::int64_t> stream = integer(row, "stream")) {
        lane_of_[row] = lane_number({LaneKind::kStream, integer(row, "device").value_or(0), *stream});
      } else if (integer(row, attribute_name::kIsCpuOp).value_or(0) != 0) {
        const std::optional<std::int64_t> thread = integer(row, "thread");
        const std::int64_t number = thread ? *thread : integer(row, "tid").value_or(1);
        lane_of_[row] = lane_number({LaneKind::kThread, process_, number});
      } else {
        unplaced.push_back(row);
      }
    }
    std::ranges::stable_sort(unplaced, {}, [&](std::uint32_t row) { return trace_.start(row); });
    std::array<std::vector<Nanoseconds>, kLaneNames.size()> free_from;  // by class: of each of its lanes
    for (const std::uint32_t row : unplaced) {
      const LaneKind kind = class_of(trace_.type(row));
      std::vector<Nanoseconds>& lanes = free_from[static_cast<std::size_t>(kind)];
      const auto free_lane =
          std::ranges::find_if(lanes, [&](Nanoseconds end) { return end <= trace_.start(row); });
      const auto number = static_cast<std::int64_t>(free_lane - lanes.begin());
      if (free_lane == lanes.end()) lanes.emplace_back();
      lanes[static_cast<std::size_t>(number)] = trace_.start(row) + trace_.duration(row);
      const std::int64_t first = kFirstClassThread + static_cast<std::int64_t>(kind) * kThreadsPerClass;
      lane_of_[row] = lane_number({kind, process_, first + number});
    }
  }

  std::optional<std::int64_t> metadata_integer(std::string_view name) const {
    const TraceAttribute* attribute = trace_.metadata.attributes.find(name);
    return attribute == nullptr ? std::nullopt : attribute->integer();
  }

  std::string_view metadata_text(std::string_view name, std::string_view otherwise) const {
    const TraceAttribute* attribute = trace_.metadata.attributes.find(name);
    return attribute == nullptr ? otherwise : attribute->string().value_or(otherwise);
  }

  // Events of a lane end strictly inside those around them (span_nesting.h).
  void choose_ends() {
    std::vector<std::vector<std::uint32_t>> rows(lanes_.size());
    end_of_.resize(trace_.size());
    first_ = Nanoseconds{std::numeric_limits<std::int64_t>::max()};
    for (std::uint32_t row = 0; row < trace_.size(); ++row) {
      if (lane_of_[row] == kNoLane) continue;
      rows[lane_of_[row]].push_back(row);
      end_of_[row] = trace_.start(row) + recorded_duration(row);
      first_ = std::min(first_, trace_.start(row));
    }
    std::vector<SpanTimes> times;
    for (std::vector<std::uint32_t>& lane : rows) {
      std::ranges::stable_sort(lane, [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(trace_.start(a), end_of_[b]) < std::pair(trace_.start(b), end_of_[a]);
      });
      times.clear();
      for (const std::uint32_t row : lane) times.push_back({trace_.start(row), end_of_[row]});
      separate_ends(times);
      for (std::size_t i = 0; i < lane.size(); ++i) end_of_[lane[i]] = times[i].end;
    }
  }

  std::uint32_t lane_number(const Lane& lane) {
    const auto [entry, is_new] = lane_numbers_.try_emplace(lane, static_cast<std::uint32_t>(lanes_.size()));
    if (is_new) lanes_.push_back(lane);
    return entry->second;
  }

  void head() {
    out_ += "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [],\n  \"displayTimeUnit\": \"ms\",\n";
    if (rank_) {
      out_ += format("  \"distributedInfo\": {{\"rank\": {}", *rank_);
      if (const auto world_size = metadata_integer("world_size"))
        out_ += format(", \"world_size\": {}", *world_size);
      out_ += "},\n";
    }
    if (const auto base = metadata_integer("base_time_ns"))
      out_ += format("  \"baseTimeNanoseconds\": {},\n", *base);
    out_ += "  \"traceEvents\": [";
  }

  void next_event() {
    if (out_.size() >= kJsonPart) {
      sink_(out_);
      out_.clear();
    }
    out_ += any_event_ ? ",\n  " : "\n  ";
    any_event_ = true;
  }

  template <typename... Args>
  void put(fmt::format_string<Args...> pattern, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), pattern, std::forward<Args>(args)...);
  }

  void put_name(std::string_view what, std::int64_t process, std::int64_t thread, std::string_view key,
                std::string_view value) {
    next_event();
    put(R"({{"name": "{}", "ph": "M", )", what);
    put_time("ts", first_);
    put(R"("pid": {}, "tid": {}, "args": {{"{}": )", process, thread, key);
    append_json_text(out_, value);
    out_ += "}}";
  }
  void put_sort_index(std::string_view what, std::int64_t process, std::int64_t thread, std::int64_t index) {
    next_event();
    put(R"({{"name": "{}", "ph": "M", )", what);
    put_time("ts", first_);
    put(R"("pid": {}, "tid": {}, "args": {{"sort_index": {}}}}})", process, thread, index);
  }

  // As PyTorch does: the process, and each of its devices as a process of the same name.
  void name_processes() {
    std::set<std::pair<bool, std::int64_t>> processes;  // devices behind hosts
    for (const Lane& lane : lanes_) processes.emplace(lane.kind == LaneKind::kStream, lane.process);
    const std::string otherwise = rank_ ? format("rank {}", *rank_) : "trace";
    for (const auto& [is_device, process] : processes) {
      put_name("process_name", process, 0, "name", metadata_text("process_name", otherwise));
      put_name("process_labels", process, 0, "labels", is_device ? format("GPU {}", process) : "CPU");
      put_sort_index("process_sort_index", process, 0, process + (is_device ? kFirstDeviceSortIndex : 0));
    }
  }

  // What the profile called its threads: {"451": "thread 451 (pt_autograd_0)"}.
  std::map<std::int64_t, std::string> thread_names() const {
    std::map<std::int64_t, std::string> names;
    const Json texts = Json::parse(metadata_text("thread_names", "{}"), nullptr, /*allow_exceptions=*/false);
    if (!texts.is_object()) return names;
    for (const auto& [number, name] : texts.items()) {
      std::int64_t thread = 0;
      if (read_number(number, thread) && name.is_string()) names.emplace(thread, name.get<std::string>());
    }
    return names;
  }

  // In the order of the map: the names of lanes do not depend on which node comes first.
  void name_lanes() {
    const std::map<std::int64_t, std::string> known = thread_names();
    for (const auto& [lane, number] : lane_numbers_) {
      const bool numbered = lane.kind == LaneKind::kThread || lane.kind == LaneKind::kStream;
      const std::int64_t shown = numbered ? lane.thread
                                          : lane.thread - kFirstClassThread -
                                                static_cast<std::int64_t>(lane.kind) * kThreadsPerClass + 1;
      const auto name = lane.kind == LaneKind::kThread ? known.find(lane.thread) : known.end();
      put_name("thread_name", lane.process, lane.thread, "name",
               name != known.end() ? name->second
                                   : format("{} {}", kLaneNames[static_cast<std::size_t>(lane.kind)], shown));
      put_sort_index("thread_sort_index", lane.process, lane.thread, lane.thread);
    }
  }

  void put_time(std::string_view key, Nanoseconds time) {
    const std::int64_t nanoseconds = time.count();
    put(R"("{}": {}.{:03}, )", key, nanoseconds / 1000, nanoseconds % 1000);
  }

  Nanoseconds recorded_duration(std::size_t row) const {
    const std::optional<std::int64_t> inclusive = integer(row, "inclusive_ns");
    return inclusive && *inclusive >= 0 ? Nanoseconds{*inclusive} : trace_.duration(row);
  }

  std::string_view default_category(std::size_t row) const {
    const LaneKind kind = lanes_[lane_of_[row]].kind;
    if (kind != LaneKind::kStream) return "cpu_op";
    return class_of(trace_.type(row)) == LaneKind::kMemory ? "gpu_memcpy" : "kernel";
  }

  void put_event(std::size_t row) {
    const Lane& lane = lanes_[lane_of_[row]];
    const std::optional<TraceAttribute> category = trace_.find_attribute(row, "category");
    next_event();
    ++counts_.events;
    out_ += R"({"ph": "X", "cat": )";
    append_json_text(out_,
                     category ? category->string().value_or(default_category(row)) : default_category(row));
    out_ += ", \"name\": ";
    append_json_text(out_, trace_.name(row));
    put(R"(, "pid": {}, "tid": {}, )", lane.process, lane.thread);
    put_time("ts", trace_.start(row));
    put_time("dur", end_of_[row] - trace_.start(row));
    put(R"("args": {{"node": {}, "type": "{}")", to_number(trace_.id(row)), to_string(trace_.type(row)));
    put_inputs(trace_.inputs(row));
    for (std::size_t i = 0; i < trace_.attribute_count(row); ++i) {
      const TraceAttribute attribute = trace_.attribute(row, i);
      if (attribute.name == "category") continue;
      out_ += ", ";
      append_json_text(out_, attribute.name);
      out_ += ": ";
      append_json_value(out_, attribute);
    }
    out_ += "}}";
  }

  void put_inputs(const IoInfo& io) {
    const auto put_list = [&](std::string_view key, std::string_view text) {
      if (text.empty() || !Json::accept(text)) return;
      put(R"(, "{}": )", key);
      out_ += text;
    };
    put_list("Concrete Inputs", io.values);
    put_list("Input Dims", io.shapes);
    put_list("Input type", io.types);
  }

  // What the profile had: see trace_flows.h.
  void put_flows() {
    for (const TraceFlow& flow : flows_of(trace_)) {
      if (lane_of_[flow.from] == kNoLane || lane_of_[flow.to] == kNoLane) continue;
      const FlowName name{.category = flow.name, .name = flow.name, .id = flow.id};
      put_flow_end('s', flow.from, name);
      put_flow_end('f', flow.to, name);
      ++counts_.links;
    }
  }

  void put_dependencies() {
    const TraceIndex index(trace_);
    for (std::size_t row = 0; row < trace_.size(); ++row) {
      for (const TraceNodeId id : trace_.ctrl_deps(row)) put_flow(index.row_of(id), row, "control");
      for (const TraceNodeId id : trace_.data_deps(row)) put_flow(index.row_of(id), row, "data");
    }
  }

  void put_flow(std::optional<std::uint32_t> from, std::size_t to, std::string_view name) {
    if (!from || lane_of_[*from] == kNoLane || lane_of_[to] == kNoLane) return;
    const FlowName flow{.category = "dependency", .name = name, .id = ++counts_.flows};
    put_flow_end('s', *from, flow);
    put_flow_end('f', to, flow);
  }

  void put_flow_end(char phase, std::size_t row, const FlowName& flow) {
    const Lane& lane = lanes_[lane_of_[row]];
    next_event();
    put(R"({{"ph": "{}", "id": {}, "pid": {}, "tid": {}, )", phase, flow.id, lane.process, lane.thread);
    put_time("ts", trace_.start(row));
    put(R"("cat": "{}", "name": "{}"{}}})", flow.category, flow.name, phase == 'f' ? R"(, "bp": "e")" : "");
  }

  const Trace& trace_;
  const TraceKinetoOptions& options_;
  const ByteSink& sink_;
  std::optional<std::int64_t> rank_;
  std::int64_t process_ = 0;
  Nanoseconds first_;  // start of an event
  std::vector<Lane> lanes_;
  std::map<Lane, std::uint32_t> lane_numbers_;
  std::vector<std::uint32_t> lane_of_;  // by row
  std::vector<Nanoseconds> end_of_;     // by row: as it is shown
  std::string out_;
  bool any_event_ = false;
  TraceKinetoCounts counts_;
};

}  // namespace

TraceKinetoCounts write_trace_kineto(const Trace& trace, const TraceKinetoOptions& options,
                                     const ByteSink& sink) {
  return TraceKinetoFile(trace, options, sink).write();
}

}  // namespace nadi::inline traces
