#include "nadi/recording/kineto_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution_communication.h"
#include "nadi/recording/execution_spans.h"
#include "nadi/recording/kineto_head.h"
#include "nadi/recording/kineto_names.h"
#include "nadi/recording/span_nesting.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {
namespace {

// A quarter of a mean Gregorian year. Kineto's times count from the last whole number of these since 1970.
constexpr std::int64_t kQuarterNanoseconds = 7'889'238'000'000'000;

// Numbers of PyTorch's enumeration of devices.
constexpr int kCpuDeviceType = 0;
constexpr int kCpuDeviceId = -1;
constexpr int kCudaDeviceType = 1;

// Where PyTorch sorts the processes that stand for devices: behind those of hosts.
constexpr std::int64_t kDeviceSortIndexes = 5'000'000;

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
    for (const ExecutedStep& step : steps) {
      check(step.device == device_, "all steps ran on one device");
      note_launches(step);
    }
    const std::int64_t now = (options.clock_origin + first_).count();
    check(now >= 0, "a run starts after 1970");
    base_ = now / kQuarterNanoseconds * kQuarterNanoseconds;
    if (options.plan == nullptr) return;
    group_kinds_ = options.group_kinds.empty() ? collective_groups(program) : options.group_kinds;
    groups_.emplace(*options.plan, group_kinds_);
    processes_ = options.plan->world_size();
  }

  std::uint64_t write() {
    out_ += kineto_head(options_, {.device = device_,
                                   .backend = backend(),
                                   .base = base_,
                                   .group_kinds = group_kinds_,
                                   .groups = groups_ ? &*groups_ : nullptr});
    metadata();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const ExecutedStep& step = steps_[i];
      std::optional<Nanoseconds> next;
      if (i + 1 < steps_.size()) next = steps_[i + 1].start;
      write_spans(step, next);
      write_calls_of_host(step);
      write_work_besides(step);
      if (options_.memory) memory(step);
    }
    out_ += "\n  ],\n";
    out_ += format(R"(  "traceName": {})", kineto_text(options_.trace_name));
    out_ += "\n}\n";
    sink_(out_);
    return events_;
  }

 private:
  // Arrows have two ends: both must be in the record.
  void note_launches(const ExecutedStep& step) {
    std::set<std::uint32_t> calls;
    for (const HostLaunch& call : step.launches) calls.insert(call.correlation);
    for (const auto& work : {std::span(step.device_work), std::span(step.work_besides)})
      for (const DeviceWork& piece : work)
        if (calls.contains(piece.correlation)) launched_.insert(piece.correlation);
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

  // What ran on the device for a kernel of the record.
  static std::span<const DeviceWork> work_of_kernel(const ExecutedStep& step, std::size_t kernel) {
    const auto pieces = std::ranges::equal_range(step.device_work, kernel, {}, &DeviceWork::kernel);
    return {pieces.begin(), pieces.end()};
  }
  // Whether a kernel is a call of the host: all are where the engine computes there, else communication that
  // goes through its memory.
  bool on_host(const ExecutedStep& step, std::size_t kernel) const {
    if (device_.is_host() || step.device_work.empty()) return device_.is_host();
    return communicates(step.kernels[kernel]) &&
           std::ranges::none_of(work_of_kernel(step, kernel), [](const DeviceWork& piece) {
             return piece.kind == DeviceWork::Kind::kKernel;
           });
  }
  Lane lane_of(const ExecutedStep& step, const ExecutionSpan& span) const {
    if (span.kind != ExecutionSpan::Kind::kCall || !on_host(step, span.call)) return lane_of(span.stream);
    // The stream that computes waits for it: so does the main thread.
    const bool waited_for = !device_.is_host() && span.stream == computing_stream(program_, step);
    return waited_for ? host_lane() : Lane{options_.process, thread_number(span.stream)};
  }

  // What carries messages.
  std::string_view backend() const {
    if (!options_.backend.empty()) return options_.backend;
    return device_.is_host() ? "mpi" : "nccl";
  }
  // Ranks number their launches differently, too.
  std::int64_t correlation_number(std::uint32_t correlation) const {
    return correlation * processes_ + to_number(options_.rank);
  }
  std::int64_t record_number() const { return record_ * processes_ + to_number(options_.rank); }

  void metadata() {
    std::map<StreamId, bool> computes;  // by stream; of kernels that are calls of the host, by thread
    std::set<std::uint32_t> streams;    // of the device
    std::set<std::int64_t> carriers;    // threads beside a device: communication through the host
    for (const ExecutedStep& step : steps_) {
      for (std::size_t i = 0; i < step.kernels.size(); ++i) {
        const ExecutedKernel& kernel = step.kernels[i];
        if (device_.is_host())
          computes[kernel.stream] |= !communicates(kernel);
        else if (!on_host(step, i))
          streams.insert(to_number(kernel.stream));
        else
          carriers.insert(lane_of(step, {.stream = kernel.stream, .call = i}).thread);
      }
      for (const DeviceWork& piece : step.device_work) streams.insert(piece.stream);
      for (const DeviceWork& piece : step.work_besides) streams.insert(piece.stream);
    }
    const bool of_many = options_.plan != nullptr && options_.plan->world_size() > 1;
    name_process(options_.process, "CPU", of_many ? to_number(options_.rank) : options_.process);
    name_thread(host_lane(), format("thread {} (main)", host_lane().thread));
    for (const auto& [stream, computing] : computes)
      if (const Lane lane = lane_of(stream); stream != kComputeStream)
        name_thread(lane, computing ? format("thread {} (worker {})", lane.thread, to_number(stream))
                                    : format("communication {}", to_number(stream)));
    carriers.erase(host_lane().thread);
    for (const std::int64_t thread : carriers)
      name_thread({options_.process, thread},
                  format("communication {}", (thread - options_.process) / kKinetoThreadStride));
    if (device_.is_host()) return;
    name_process(device_.number, format("GPU {}", device_.number), kDeviceSortIndexes + device_.number);
    for (const std::uint32_t stream : streams)
      name_thread({device_.number, stream}, format("stream {}", stream));
  }

  void name_process(std::int64_t process, std::string_view label, std::int64_t sort_index) {
    put_name({process, 0}, "process_name", "name", kineto_text(options_.process_name));
    put_name({process, 0}, "process_labels", "labels", kineto_text(label));
    put_name({process, 0}, "process_sort_index", "sort_index", format("{}", sort_index));
  }

  void name_thread(const Lane& lane, std::string_view name) {
    put_name(lane, "thread_name", "name", kineto_text(name));
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
    return span.kind == ExecutionSpan::Kind::kCall && on_host(step, span.call) &&
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
        begin(annotation(), kineto_text(span.name), span, lane_of(span.stream));
        const CallOrigin origin = origin_of(program_, step.kernels[span.call]);
        out_ += format(R"("section": {}, "micro_batch": {}, )", kineto_text(origin.section.name),
                       origin.instruction.micro_batch);
        return end();
      }
      case ExecutionSpan::Kind::kLayer:
        begin(annotation(), kineto_text(span.name), span, lane_of(span.stream));
        return end();
      case ExecutionSpan::Kind::kCall:
        return write_call(step, span);
    }
    unreachable();
  }

  // As PyTorch has them. On a device each kernel is one event, or one for each piece of work that it was
  // there. On the host communication has two: the record of its parameters, and within it an annotation that
  // says what carried it.
  void write_call(const ExecutedStep& step, const ExecutionSpan& span) {
    const ExecutedKernel& call = step.kernels[span.call];
    const CallOrigin origin = origin_of(program_, call);
    const std::optional<CommunicationWork> communication = communication_of(origin);
    const Lane lane = lane_of(step, span);
    const bool host = on_host(step, span.call);
    if (!step.device_work.empty()) {
      write_work(step, span, communication);
      if (!host) return;
    }
    const std::string name = !communication ? kernel_name(program_, step, call)
                             : host         ? "record_param_comms"
                                            : communication_kernel_name(backend(), origin.op.kind);
    begin(host ? "cpu_op" : "kernel", kineto_text(name), span, lane);
    if (!host)
      out_ += format(R"("device": {}, "stream": {}, "kernel": {}, )", lane.process, lane.thread,
                     kineto_text(kernel_name(program_, step, call)));
    put_work(step, call, origin, communication);
    put_origin(step, origin);
    if (call.further > 0) put_fused(step, call);
    end();
    if (!communication || !host) return;
    ExecutionSpan inner = span;
    inner.end = within({span.start, span.end}).end;
    const std::string carried =
        format("{}:{}", device_.is_host() ? backend() : "mpi", communication_annotation_name(origin.op.kind));
    begin("user_annotation", kineto_text(carried), inner, lane);
    out_ += kineto_input_args(origin.graph, origin.op);
    end();
  }

  // The pieces that a kernel was on the device. What was computed is said of the longest.
  void write_work(const ExecutedStep& step, const ExecutionSpan& span,
                  const std::optional<CommunicationWork>& communication) {
    const ExecutedKernel& call = step.kernels[span.call];
    const std::span<const DeviceWork> pieces = work_of_kernel(step, span.call);
    const DeviceWork* longest = nullptr;
    for (const DeviceWork& piece : pieces)
      if (piece.kind == DeviceWork::Kind::kKernel &&
          (longest == nullptr || piece.end - piece.start > longest->end - longest->start))
        longest = &piece;
    const CallOrigin origin = origin_of(program_, call);
    const std::string kind = kernel_name(program_, step, call);
    for (const DeviceWork& piece : pieces) {
      begin_work(step, piece, {device_.number, to_number(span.stream)}, span.end);
      if (&piece == longest) put_work(step, call, origin, communication);
      out_ += format(R"("kernel": {}, )", kineto_text(kind));
      put_origin(step, origin);
      if (call.further > 0) put_fused(step, call);
      end_work(piece, {device_.number, to_number(span.stream)});
    }
  }

  void write_work_besides(const ExecutedStep& step) {
    for (const DeviceWork& piece : step.work_besides) {
      const Lane lane{device_.number, piece.stream};
      begin_work(step, piece, lane, piece.end);
      out_ += format(R"("step": {}, )", step.step);
      end_work(piece, lane);
    }
  }

  // At most until `limit`.
  void begin_work(const ExecutedStep& step, const DeviceWork& piece, const Lane& lane, Nanoseconds limit) {
    const Nanoseconds last = std::max(piece.start, std::min(piece.end, limit));
    begin_event(kineto_category(piece.kind), kineto_text(step.work_names[piece.name]), lane, piece.start,
                last - piece.start);
    out_ += kineto_work_args(piece, device_, static_cast<std::uint32_t>(lane.thread),
                             correlation_number(piece.correlation));
  }
  void end_work(const DeviceWork& piece, const Lane& lane) {
    end_event();
    if (launched_.contains(piece.correlation)) put_arrow("f", piece.correlation, lane, piece.start);
  }

  // What the host called to give the device work, and to wait for it, with arrows to what it launched.
  void write_calls_of_host(const ExecutedStep& step) {
    for (const HostLaunch& call : step.launches) {
      begin_event(call.of_driver ? "cuda_driver" : "cuda_runtime", kineto_text(step.work_names[call.name]),
                  host_lane(), call.start, call.end - call.start);
      out_ +=
          format(R"("cbid": {}, "correlation": {}, )", call.callback, correlation_number(call.correlation));
      end_event();
      if (launched_.contains(call.correlation)) put_arrow("s", call.correlation, host_lane(), call.start);
    }
  }

  // `side`: "s" where an arrow starts, "f" where it ends.
  void put_arrow(std::string_view side, std::uint32_t correlation, const Lane& lane, Nanoseconds time) {
    next_event();
    out_ += format(R"({{"ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": {}, "cat": "ac2g", )", side,
                   correlation_number(correlation), lane.process, lane.thread, at(time));
    out_ += side == "f" ? R"("name": "ac2g", "bp": "e"})" : R"("name": "ac2g"})";
  }

  std::string_view annotation() const {
    return device_.is_host() ? "user_annotation" : "gpu_user_annotation";
  }

  void begin_event(std::string_view category, const std::string& name, const Lane& lane, Nanoseconds start,
                   Nanoseconds duration) {
    next_event();
    out_ += format(
        R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{)",
        category, name, lane.process, lane.thread, at(start), microseconds(duration.count()));
  }
  void end_event() {
    out_.resize(out_.size() - 2);  // the comma behind the last of the args
    out_ += "}}";
  }

  // An event that was recorded by the program itself.
  void begin(std::string_view category, const std::string& name, const ExecutionSpan& span,
             const Lane& lane) {
    begin_event(category, name, lane, span.start, span.end - span.start);
    const std::int64_t number = record_number() + 1;
    out_ += format(R"("External id": {}, "Record function id": {}, )", number, number);
  }

  void end() {
    out_ += format(R"("Ev Idx": {}}}}})", record_number());
    ++record_;
  }

  // Inputs, and what was computed or carried.
  void put_work(const ExecutedStep& step, const ExecutedKernel& call, const CallOrigin& origin,
                const std::optional<CommunicationWork>& communication) {
    out_ += kineto_input_args(origin.graph, origin.op);
    if (communication) return put_communication(origin.op, *communication, call.end - call.start);
    const CallWork work = work_of(program_, step, call);
    out_ += format(R"("flops": {}, "bytes": {}, )", work.flops.count(), work.bytes.count());
  }

  void put_origin(const ExecutedStep& step, const CallOrigin& origin) {
    out_ += format(R"("op": {}, "layer": {}, "phase": "{}", "section": {}, "micro_batch": {}, "step": {}, )",
                   kineto_text(origin.op.name), kineto_text(origin.graph.layer(origin.op.layer)),
                   to_string(origin.op.phase), kineto_text(origin.section.name),
                   origin.instruction.micro_batch, step.step);
  }

  // A kernel of several ops has all of them.
  void put_fused(const ExecutedStep& step, const ExecutedKernel& kernel) {
    std::string list;
    for (std::uint32_t i = 0; i < kernel.ops(); ++i)
      list += format("{}{}", i == 0 ? "" : ", ",
                     kineto_text(origin_of(program_, kernel.instruction, step.op(kernel, i)).op.name));
    out_ += format(R"("ops": [{}], )", list);
  }

  void put_communication(const Op& op, const CommunicationWork& work, Nanoseconds time) {
    check(options_.plan != nullptr, "a program with communication is traced with its plan");
    const std::vector<Rank> members = group_members(*options_.plan, work.group, options_.rank);
    out_ += format(R"("Collective name": "{}", "dtype": "{}", "In msg nelems": {}, "Out msg nelems": {}, )",
                   communication_record_name(op.kind), pytorch_message_type(work.dtype), work.input_elements,
                   work.output_elements);
    // Groups that only carry messages have no number.
    if (group_kinds_.contains(work.group))
      out_ += format(R"("Process Group Name": "{}", )", groups_->number(work.group, options_.rank));
    out_ += format(R"("Process Group Description": "{}", "Process Group Ranks": "{}", "Group size": {}, )",
                   to_string(work.group), listed_ranks(members), members.size());
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

  std::set<std::uint32_t> launched_;  // calls, by correlation, that launched recorded work

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

}  // namespace nadi::inline traces
