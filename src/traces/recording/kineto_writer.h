// Writes a recorded run as the JSON trace of PyTorch's profiler (Kineto), which chrome://tracing, Perfetto
// and the tools around PyTorch read.
//
//   AtomicFile file("run_trace_kineto.json", Overwrite::kAllow);
//   write_kineto(program, steps, {.trace_name = "run", .clock_origin = origin},
//                [&](std::string_view part) { file.write(part); });
//   file.commit();
//
// Events of a step, as Kineto names them:
//   - `user_annotation`: "ProfilerStep#12", within it phases ("forward", with section and micro_batch) and
//     layers ("transformer.h.3.attn"), nested (execution_spans.h);
//   - `cpu_op`: a kernel call, named by the kind of its op ("matmul"), with the shapes and types of its
//     inputs, its FLOPs and bytes, and op, layer, phase, section, micro_batch and step;
//   - `cpu_op` "record_param_comms": communication, from when it was posted until it was done, with elements,
//     type, process group and ranks instead of FLOPs, and bytes, algorithm and bus bandwidth as nccl-tests
//     counts them (execution_communication.h); within it the annotation "mpi:all_reduce". What goes on in the
//     background has threads of its own, "communication 1" and so on;
//   - `cpu_instant_event` "[memory]": the bytes of values alive, whenever they change, where the caller knows
//     them. They are parts of one arena, so that "Addr" is always 0, and gone at the end of a step.
// A kernel of several ops is one event, named by all ("matmul+gelu"), which lists them as `ops`.
//
// Where the record is of a device beside the host, a kernel is a `kernel` of the process and thread that have
// the numbers of device and stream, which its args repeat; communication is one, too, named as tools know it
// ("ncclDevKernel_AllReduce"); spans are `gpu_user_annotation`, and the step is one of the host as well.
//
// Metadata events name processes and threads. A run on the CPU has no device properties. Processes and
// threads are numbered as PyTorch does: a process by its number in the operating system, and its main thread
// likewise; 0 would be taken for a GPU. Events end strictly inside the events around them (span_nesting.h).
//
// Times are microseconds with three decimals since `baseTimeNanoseconds`, which is chosen as Kineto does (the
// start of a quarter of a year), so that traces of several ranks and of PyTorch can be laid over one another.
// Ranks of one plan number their events differently, and processes of one machine their threads, so that
// their files can be put together (kineto_merge.h). The same arguments give the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "nadi/base/units.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/parallel/plan.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline traces {

// Linux numbers processes below 2^22. Threads that are not the main one have no number of the operating
// system here, since communication in the background is no thread: thread n of process p is p + n * this.
// Processes get a number between the two where several have the same (kineto_merge.h).
inline constexpr std::int64_t kKinetoProcessLimit = std::int64_t{1} << 22;
inline constexpr std::int64_t kKinetoThreadStride = std::int64_t{1} << 24;

struct KinetoOptions {
  std::string trace_name = "";
  Nanoseconds clock_origin = {};  // what the time since 1970 was when the record's clock stood at 0
  std::int64_t process = 1;       // its number in the operating system
  std::string process_name = "nadi";
  const Plan* plan = nullptr;  // needed where the program communicates; gives `distributedInfo`
  Rank rank = {};              // in the plan
  // In which some stage of the plan has collectives: this numbers the groups. Empty means as the program has them.
  std::set<GroupKind> group_kinds = {};
  // What carries messages; empty means MPI where kernels ran on the host, else NCCL.
  std::string backend = {};
  // Bytes of values alive while the kernel runs; empty means no memory events.
  std::function<Bytes(const ExecutedStep&, const ExecutedKernel&)> memory = {};
  Bytes reserved = {};  // of memory events: the arena that these values share
};

// Returns the number of events. The sink is called with about 1 MiB at a time, in order. The record must be
// as trace_execution() and spans_of() want it.
std::uint64_t write_kineto(const Program& program, std::span<const ExecutedStep> steps,
                           const KinetoOptions& options, const ByteSink& sink);

}  // namespace nadi::inline traces
