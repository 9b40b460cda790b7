#include "nadi/recording/kineto_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/chakra/json_output.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution_communication.h"
#include "nadi/recording/execution_spans.h"
#include "nadi/recording/span_nesting.h"
#include "nadi/trace/collective_table.h"
#include "nadi/unroll/collective_type.h"
#include "nadi/unroll/process_groups.h"

namespace nadi {
namespace {

// A quarter of a mean Gregorian year. Kineto's times count from the last whole number of these since 1970.
constexpr std::int64_t kQuarterNanoseconds = 7'889'238'000'000'000;

// Numbers of PyTorch's enumeration of devices.
constexpr int kCpuDeviceType = 0;
constexpr int kCpuDeviceId = -1;
constexpr int kCudaDeviceType = 1;

// Where PyTorch sorts the processes that stand for devices: behind those of hosts.
constexpr std::int64_t kDeviceSortIndexes = 5'000'000;

std::string_view pytorch_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kBF16:
      return "c10::BFloat16";
    case DType::kF16:
      return "c10::Half";
    case DType::kF8E4M3:
      return "c10::Float8_e4m3fn";
    case DType::kF8E5M2:
      return "c10::Float8_e5m2";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long int";
  }
  unreachable();
}

// As PyTorch names the elements of messages.
std::string_view message_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "Float";
    case DType::kBF16:
      return "BFloat16";
    case DType::kF16:
      return "Half";
    case DType::kF8E4M3:
      return "Float8_e4m3fn";
    case DType::kF8E5M2:
      return "Float8_e5m2";
    case DType::kI32:
      return "Int";
    case DType::kI64:
      return "Long";
  }
  unreachable();
}

// What PyTorch calls a communication op: in the record of its parameters, and in the annotation around it.
std::string_view record_name(OpKind kind) {
  if (kind == OpKind::kSend) return "send";
  if (kind == OpKind::kReceive) return "recv";
  return collective_facts(collective_type(kind)).kineto_record;
}
std::string_view annotation_name(OpKind kind) {
  if (kind == OpKind::kSend || kind == OpKind::kReceive) return record_name(kind);
  return collective_facts(collective_type(kind)).kineto_annotation;
}

std::string listed(std::span<const Rank> ranks) {
  std::string list;
  for (const Rank rank : ranks) list += format("{}{}", list.empty() ? "" : ", ", to_number(rank));
  return "[" + list + "]";
}

// A text with its quotes.
std::string json_text(std::string_view text) {
  const bool plain =
      std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) return format(R"("{}")", text);
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string microseconds(std::int64_t nanoseconds) {
  return format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

// The annotation within the record of communication. The record is the measurement.
SpanTimes within(const SpanTimes& record) {
  return {record.start, std::max(record.start, record.end - kSpanMargin)};
}

class KinetoFile {
 public:
  KinetoFile(const Program& program, std::span<const ExecutedStep> steps, const KinetoOptions& options,
             const ByteSink& sink)
      : program_(program), steps_(steps), options_(options), sink_(sink) {
    if (!steps.empty()) {
      first_ = steps.front().start;
      device_ = steps.front().device;
    }
    for (const ExecutedStep& step : steps) check(step.device == device_, "all steps ran on one device");
    const std::int64_t now = (options.clock_origin + first_).count();
    check(now >= 0, "a run starts after 1970");
    base_ = now / kQuarterNanoseconds * kQuarterNanoseconds;
    if (options.plan == nullptr) return;
    group_kinds_ = options.group_kinds.empty() ? collective_groups(program) : options.group_kinds;
    groups_.emplace(*options.plan, group_kinds_);
    processes_ = options.plan->world_size();
  }

  std::uint64_t write() {
    head();
    metadata();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const ExecutedStep& step = steps_[i];
      std::optional<Nanoseconds> next;
      if (i + 1 < steps_.size()) next = steps_[i + 1].start;
      write_spans(step, next);
      if (options_.memory) memory(step);
    }
    out_ += "\n  ],\n";
    out_ += format(R"(  "traceName": {})", json_text(options_.trace_name));
    out_ += "\n}\n";
    sink_(out_);
    return events_;
  }

 private:
  void head() {
    out_ += "{\n";
    put_field("schemaVersion", "1");
    put_field("deviceProperties", device_.is_host() ? "[]"
                                                    : format(R"([{{"id": {}, "name": {}}}])", device_.number,
                                                             json_text(device_.name)));
    put_field("record_shapes", "1");
    put_field("with_flops", "1");
    if (options_.memory) put_field("profile_memory", "1");
    if (options_.plan != nullptr && options_.plan->world_size() > 1)
      put_field("distributedInfo", distributed_info(*options_.plan));
    put_field("displayTimeUnit", R"("ms")");
    put_field("baseTimeNanoseconds", format("{}", base_));
    out_ += R"(  "traceEvents": [)";
  }

  void put_field(std::string_view key, std::string_view value) {
    out_ += format("  \"{}\": {},\n", key, value);
  }

  std::string distributed_info(const Plan& plan) const {
    std::vector<Rank> world;
    for (std::int32_t r = 0; r < plan.world_size(); ++r) world.push_back(Rank{r});
    std::string list = process_group("0", "default_pg", world);
    int count = 1;
    for (const GroupKind kind : group_kinds_) {
      const std::vector<Rank> members = group_members(plan, kind, options_.rank);
      // Ranks between the first and the last stage are not in the embedding group.
      if (members.size() < 2 || !std::ranges::count(members, options_.rank)) continue;
      const std::string name = format("{}", groups_->number(kind, options_.rank));
      list += ", " + process_group(name, to_string(kind), members);
      ++count;
    }
    return format(R"({{"backend": {}, "rank": {}, "world_size": {}, "pg_count": {}, "pg_config": [{}]}})",
                  json_text(backend()), to_number(options_.rank), plan.world_size(), count, list);
  }

  std::string process_group(std::string_view name, std::string_view description,
                            std::span<const Rank> members) const {
    return format(R"({{"pg_name": "{}", "pg_desc": "{}", "backend_config": {}, "pg_size": {}, )"
                  R"("ranks": {}}})",
                  name, description,
                  json_text(format("{}:{}", device_.is_host() ? "cpu" : to_string(device_.kind), backend())),
                  members.size(), listed(members));
  }

  void next_event() {
    if (out_.size() >= kJsonPart) {
      sink_(out_);
      out_.clear();
    }
    out_ += format("{}\n  ", events_++ == 0 ? "" : ",");
  }

  std::string at(Nanoseconds time) const {
    return microseconds((options_.clock_origin + time).count() - base_);
  }
  std::int64_t thread_number(StreamId stream) const {
    return options_.process + to_number(stream) * kKinetoThreadStride;
  }
  // Where kernels of a stream are shown: of a device, in a process with its number.
  struct Lane {
    std::int64_t process, thread;
  };
  Lane lane_of(StreamId stream) const {
    if (device_.is_host()) return {options_.process, thread_number(stream)};
    return {device_.number, to_number(stream)};
  }
  Lane host_lane() const { return {options_.process, thread_number(kComputeStream)}; }

  // What carries messages.
  std::string_view backend() const {
    if (!options_.backend.empty()) return options_.backend;
    return device_.is_host() ? "mpi" : "nccl";
  }
  std::int64_t record_number() const { return record_ * processes_ + to_number(options_.rank); }

  void metadata() {
    std::map<StreamId, bool> computes;  // by stream
    for (const ExecutedStep& step : steps_)
      for (const ExecutedKernel& kernel : step.kernels)
        if (communicates(kernel))
          computes.try_emplace(kernel.stream, false);
        else
          computes[kernel.stream] = true;
    const bool of_many = options_.plan != nullptr && options_.plan->world_size() > 1;
    name_process(options_.process, "CPU", of_many ? to_number(options_.rank) : options_.process);
    name_thread(host_lane(), format("thread {} (main)", host_lane().thread));
    if (!device_.is_host())
      name_process(device_.number, format("GPU {}", device_.number), kDeviceSortIndexes + device_.number);
    for (const auto& [stream, computing] : computes) {
      const Lane lane = lane_of(stream);
      if (!device_.is_host())
        name_thread(lane, format("stream {}", lane.thread));
      else if (stream != kComputeStream)
        name_thread(lane, computing ? format("thread {} (worker {})", lane.thread, to_number(stream))
                                    : format("communication {}", to_number(stream)));
    }
  }

  void name_process(std::int64_t process, std::string_view label, std::int64_t sort_index) {
    put_name({process, 0}, "process_name", "name", json_text(options_.process_name));
    put_name({process, 0}, "process_labels", "labels", json_text(label));
    put_name({process, 0}, "process_sort_index", "sort_index", format("{}", sort_index));
  }

  void name_thread(const Lane& lane, std::string_view name) {
    put_name(lane, "thread_name", "name", json_text(name));
    put_name(lane, "thread_sort_index", "sort_index", format("{}", lane.thread));
  }

  void put_name(const Lane& lane, std::string_view what, std::string_view key, std::string_view value) {
    next_event();
    out_ += format(R"({{"name": "{}", "ph": "M", "ts": {}, "pid": {}, "tid": {}, "args": {{"{}": {}}}}})",
                   what, at(first_), lane.process, lane.thread, key, value);
  }

  bool communicates(const ExecutedKernel& kernel) const {
    return is_communication(definition(origin_of(program_, kernel).op.kind).op_class);
  }

  bool shown_twice(const ExecutedStep& step, const ExecutionSpan& span) const {
    return device_.is_host() && span.kind == ExecutionSpan::Kind::kCall &&
           communicates(step.kernels[span.call]);
  }

  // Spans as they are shown: strictly one in the other. What communicates on the host is shown twice
  // (write_call()).
  void write_spans(const ExecutedStep& step, std::optional<Nanoseconds> next) {
    std::vector<ExecutionSpan> spans = spans_of(program_, step);
    std::vector<SpanTimes> times;
    const auto separate = [&](std::size_t first, std::size_t last) {
      times.clear();
      for (std::size_t i = first; i < last; ++i) {
        times.push_back({spans[i].start, spans[i].end});
        if (shown_twice(step, spans[i])) times.push_back(within(times.back()));
      }
      separate_ends(times, next);
      for (std::size_t i = first, at = 0; i < last; ++i) {
        spans[i].end = times[at].end;
        at += shown_twice(step, spans[i]) ? 2 : 1;
      }
    };
    for (std::size_t first = 0; first < spans.size();) {
      std::size_t last = first;
      while (last < spans.size() && spans[last].stream == spans[first].stream) ++last;
      separate(first, last);
      first = last;
    }
    for (const ExecutionSpan& span : spans) write_span(step, span);
  }

  void write_span(const ExecutedStep& step, const ExecutionSpan& span) {
    switch (span.kind) {
      case ExecutionSpan::Kind::kStep: {
        const std::string name = format(R"("ProfilerStep#{}")", step.step);
        if (!device_.is_host()) {
          begin("user_annotation", name, span, host_lane());
          end();
        }
        begin(annotation(), name, span, lane_of(span.stream));
        return end();
      }
      case ExecutionSpan::Kind::kPhase: {
        begin(annotation(), json_text(span.name), span, lane_of(span.stream));
        const CallOrigin origin = origin_of(program_, step.kernels[span.call]);
        out_ += format(R"("section": {}, "micro_batch": {}, )", json_text(origin.section.name),
                       origin.instruction.micro_batch);
        return end();
      }
      case ExecutionSpan::Kind::kLayer:
        begin(annotation(), json_text(span.name), span, lane_of(span.stream));
        return end();
      case ExecutionSpan::Kind::kCall:
        return write_call(step, span);
    }
    unreachable();
  }

  // As PyTorch has them. On a device each kernel is one event. On the host communication has two: the record
  // of its parameters, and within it an annotation that says what carried it.
  void write_call(const ExecutedStep& step, const ExecutionSpan& span) {
    const ExecutedKernel& call = step.kernels[span.call];
    const CallOrigin origin = origin_of(program_, call);
    const std::optional<CommunicationWork> communication = communication_of(origin);
    const Lane lane = lane_of(span.stream);
    const bool on_host = device_.is_host();
    const std::string name = !communication ? kernel_name(program_, step, call)
                             : on_host      ? "record_param_comms"
                                            : communication_kernel(origin.op.kind);
    begin(on_host ? "cpu_op" : "kernel", json_text(name), span, lane);
    if (!on_host) out_ += format(R"("device": {}, "stream": {}, )", lane.process, lane.thread);
    put_inputs(origin.graph, origin.op);
    if (communication) {
      put_communication(origin.op, *communication, call.end - call.start);
    } else {
      const CallWork work = work_of(program_, step, call);
      out_ += format(R"("flops": {}, "bytes": {}, )", work.flops.count(), work.bytes.count());
    }
    put_origin(step, origin);
    if (call.further > 0) put_fused(step, call);
    end();
    if (!communication || !on_host) return;
    ExecutionSpan inner = span;
    inner.end = within({span.start, span.end}).end;
    const std::string carried = format("{}:{}", backend(), annotation_name(origin.op.kind));
    begin(annotation(), json_text(carried), inner, lane);
    put_inputs(origin.graph, origin.op);
    end();
  }

  std::string_view annotation() const {
    return device_.is_host() ? "user_annotation" : "gpu_user_annotation";
  }

  // What tools know such a kernel by: "ncclDevKernel_AllReduce".
  std::string communication_kernel(OpKind kind) const {
    std::string name = format("{}DevKernel_", backend());
    bool starts_word = true;
    for (const char letter : annotation_name(kind)) {
      if (letter != '_')
        name +=
            starts_word && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
      starts_word = letter == '_';
    }
    return name;
  }

  void begin(std::string_view category, const std::string& name, const ExecutionSpan& span,
             const Lane& lane) {
    next_event();
    out_ += format(R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, )",
                   category, name, lane.process, lane.thread, at(span.start),
                   microseconds((span.end - span.start).count()));
    const std::int64_t number = record_number() + 1;
    out_ += format(R"("args": {{"External id": {}, "Record function id": {}, )", number, number);
  }

  void end() {
    out_ += format(R"("Ev Idx": {}}}}})", record_number());
    ++record_;
  }

  void put_origin(const ExecutedStep& step, const CallOrigin& origin) {
    out_ += format(R"("op": {}, "layer": {}, "phase": "{}", "section": {}, "micro_batch": {}, "step": {}, )",
                   json_text(origin.op.name), json_text(origin.graph.layer(origin.op.layer)),
                   to_string(origin.op.phase), json_text(origin.section.name), origin.instruction.micro_batch,
                   step.step);
  }

  // Of a kernel of several ops: all of them.
  void put_fused(const ExecutedStep& step, const ExecutedKernel& kernel) {
    std::string list;
    for (std::uint32_t i = 0; i < kernel.ops(); ++i)
      list += format("{}{}", i == 0 ? "" : ", ",
                     json_text(origin_of(program_, kernel.instruction, step.op(kernel, i)).op.name));
    out_ += format(R"("ops": [{}], )", list);
  }

  // Kineto lists tensors and scalars alike and gives the values of scalars only. Ours are all tensors.
  void put_inputs(const Graph& graph, const Op& op) {
    std::string values, types, shapes;
    for (const TensorId input : op.inputs) {
      const std::string_view comma = values.empty() ? "" : ", ";
      values.append(comma).append("\"\"");
      types.append(comma) += '"';
      if (input != kNoTensor) types.append(pytorch_type(graph.tensor(input).dtype));
      types += '"';
      shapes.append(comma).append(input == kNoTensor ? "[]" : graph.tensor(input).shape.to_string());
    }
    out_ +=
        format(R"("Concrete Inputs": [{}], "Input type": [{}], "Input Dims": [{}], )", values, types, shapes);
  }

  void put_communication(const Op& op, const CommunicationWork& work, Nanoseconds time) {
    check(options_.plan != nullptr, "a program with communication is traced with its plan");
    const std::vector<Rank> members = group_members(*options_.plan, work.group, options_.rank);
    out_ += format(R"("Collective name": "{}", "dtype": "{}", "In msg nelems": {}, "Out msg nelems": {}, )",
                   record_name(op.kind), message_type(work.dtype), work.input_elements, work.output_elements);
    // Groups that only carry messages have no number.
    if (group_kinds_.contains(work.group))
      out_ += format(R"("Process Group Name": "{}", )", groups_->number(work.group, options_.rank));
    out_ += format(R"("Process Group Description": "{}", "Process Group Ranks": "{}", "Group size": {}, )",
                   to_string(work.group), listed(members), members.size());
    out_ += format(R"("Rank": {}, )", to_number(options_.rank));
    if (definition(op.kind).op_class == OpClass::kPointToPoint) {
      const Rank peer = members[static_cast<std::size_t>(op.attributes.integer("peer"))];
      const bool sends = op.kind == OpKind::kSend;
      out_ += format(R"("Src Rank": {}, "Dst Rank": {}, )", to_number(sends ? options_.rank : peer),
                     to_number(sends ? peer : options_.rank));
    }
    out_ += format(R"("bytes": {}, )", work.bytes.count());
    if (const auto bandwidth = algorithm_gb_per_second(work.bytes, time))
      out_ += format(R"-("Algorithm bandwidth (GB/s)": {:.6f}, "Bus bandwidth (GB/s)": {:.6f}, )-",
                     *bandwidth, *bandwidth * work.bus_factor);
  }

  void memory(const ExecutedStep& step) {
    Bytes alive;
    for (const ExecutedKernel& call : step.kernels) {
      const Bytes now = options_.memory(step, call);
      if (now != alive) put_memory(call.start, now - alive, now);
      alive = now;
    }
    if (alive != Bytes{}) put_memory(step.end, Bytes{} - alive, Bytes{});
  }

  // Always of the thread that runs the program: it also starts what others do.
  void put_memory(Nanoseconds time, Bytes change, Bytes total) {
    next_event();
    out_ += format(R"({{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": {}, )"
                   R"("tid": {}, "ts": {}, )",
                   options_.process, thread_number(kComputeStream), at(time));
    out_ += format(R"("args": {{"Total Reserved": {}, "Total Allocated": {}, "Bytes": {}, "Addr": 0, )",
                   options_.reserved.count(), total.count(), change.count());
    out_ += format(R"("Device Id": {}, "Device Type": {}, "Ev Idx": {}}}}})",
                   device_.is_host() ? kCpuDeviceId : device_.number,
                   device_.is_host() ? kCpuDeviceType : kCudaDeviceType, record_number());
    ++record_;
  }

  const Program& program_;
  std::span<const ExecutedStep> steps_;
  const KinetoOptions& options_;
  const ByteSink& sink_;
  std::set<GroupKind> group_kinds_;
  std::optional<ProcessGroups> groups_;
  Nanoseconds first_;
  ExecutedDevice device_;
  std::int64_t base_ = 0;  // nanoseconds since 1970

  std::string out_;
  std::uint64_t events_ = 0;
  std::int64_t record_ = 0;     // events that were recorded: all but metadata
  std::int64_t processes_ = 1;  // that number their events side by side
};

}  // namespace

std::uint64_t write_kineto(const Program& program, std::span<const ExecutedStep> steps,
                           const KinetoOptions& options, const ByteSink& sink) {
  return KinetoFile(program, steps, options, sink).write();
}

}  // namespace nadi
