// The record that an engine keeps, at the entry of each kernel, of what ran, where and when.
//
//   ExecutedStep step{.step = 12};
//   engine.run(..., &step);
//   for (const ExecutedKernel& kernel : step.kernels)
//     for (std::uint32_t i = 0; i < kernel.ops(); ++i) use(origin_of(program, kernel.instruction,
//     step.op(kernel, i)));
//
// An engine calls reserve() before a step, then enter() for each kernel, which allocates nothing, and gives
// the kernel its end when it is done.
//
// A kernel does the work of one op, or of several that the engine has fused: those of one instruction, in the
// order of the program, views left out. It runs where the program has the first of them. What communicates is
// a kernel of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/processor_use.h"
#include "nadi/base/units.h"
#include "nadi/graph/tensor.h"
#include "nadi/parallel/stream.h"

namespace nadi::inline describe {
class Graph;
struct Instruction;
struct Op;
struct Program;
struct Section;
}  // namespace nadi::inline describe

namespace nadi::inline traces {

struct ExecutedDevice {
  enum class Kind : std::uint8_t { kCpu, kReference, kCuda };
  Kind kind = Kind::kCpu;
  std::int32_t number = 0;  // among those of its kind that the process sees
  std::string name = {};    // of the product, where the engine knows it
  // Properties of a GPU, named as PyTorch's profiler names them: "numSms", "totalGlobalMem".
  std::vector<std::pair<std::string, std::int64_t>> properties = {};

  // Whether kernels are calls of the host's own threads. Else they are launched and run beside the host.
  bool is_host() const { return kind != Kind::kCuda; }
  // nothing means not known.
  std::optional<std::int64_t> property(std::string_view name) const;
  bool operator==(const ExecutedDevice&) const = default;
};
std::string_view to_string(ExecutedDevice::Kind kind);  // "cpu", "reference", "cuda"

// One kernel. Times are those of the steady clock.
struct ExecutedKernel {
  std::uint32_t instruction = 0;  // index into Program::instructions
  OpId op = kNoOp;                // of the graph of that instruction's section: its first; never a view
  Nanoseconds start = {};
  Nanoseconds end = {};
  // As the device numbers its streams: kernels of one stream come one after the other. On the host, stream 0
  // is the thread that runs the program. What overlaps with it, communication for instance, has another
  // number, and lasts from when it was started until it was done.
  StreamId stream = kComputeStream;
  // The ops behind the first: ExecutedStep::further_ops from here on, and how many.
  std::uint32_t first_further = 0;
  std::uint32_t further = 0;

  std::uint32_t ops() const { return 1 + further; }
};

// Work of a device beside the host, as its profiler reports it: what a kernel of the record was made of
// there.
struct DeviceWork {
  enum class Kind : std::uint8_t { kKernel, kCopy, kSet };
  Kind kind = Kind::kKernel;
  std::uint32_t kernel = kNoKernel;  // index into ExecutedStep::kernels
  std::uint32_t name = 0;            // index into ExecutedStep::work_names
  Nanoseconds start = {};
  Nanoseconds end = {};
  std::uint32_t correlation = 0;  // of the launch
  // Grid of a kernel; 0 for others.
  std::array<std::int32_t, 3> grid = {};
  std::array<std::int32_t, 3> block = {};
  std::int32_t registers = 0;  // per thread
  Bytes shared_memory = {};    // per block
  // Number of a graph; 0 where it was launched by itself.
  std::uint32_t graph = 0;
  std::uint64_t graph_node = 0;
  Bytes bytes = {};           // of copies and sets
  std::uint32_t context = 0;  // as the profiler numbers them
  std::uint32_t stream = 0;

  // What the engine does besides the kernels of its program: inputs that it brings, scalars that it reads.
  static constexpr std::uint32_t kNoKernel = 0xffff'ffff;
};

// A call of the host that gave work to a device, or waited for it.
struct HostLaunch {
  std::uint32_t name = 0;  // index into ExecutedStep::work_names: "cudaGraphLaunch"
  Nanoseconds start = {};
  Nanoseconds end = {};
  std::uint32_t correlation = 0;
  std::int32_t callback = 0;  // the number that the profiler's callbacks have for it
  bool of_driver = false;     // of the driver's interface instead of the runtime's
};

// One run of a program.
struct ExecutedStep {
  std::int64_t step = 0;  // number of the training step
  Nanoseconds start = {};
  Nanoseconds end = {};
  std::vector<ExecutedKernel> kernels = {};  // in the order in which they were entered
  std::vector<OpId> further_ops = {};        // of kernels of several ops
  ExecutedDevice device = {};                // where all of them ran
  // What the processors did meanwhile, where they are the device and the system says it.
  std::optional<ProcessorUse> processors = {};

  // Work of a device beside the host whose profiler was attached, else empty (device_work.h). A kernel then lasts
  // from the start of its first work to the end of its last; one without any did nothing there.
  std::vector<DeviceWork> device_work = {};   // by kernel, then by start
  std::vector<DeviceWork> work_besides = {};  // of no kernel, by start
  std::vector<HostLaunch> launches = {};      // by start
  std::vector<std::string> work_names = {};

  // Room for that many kernels, which do that many ops, beside those that are there.
  void reserve(std::size_t kernel_count, std::size_t op_count);
  // Adds a kernel of these ops, of which there is at least one. Its end is still to come.
  ExecutedKernel& enter(std::uint32_t instruction, std::span<const OpId> ops, StreamId stream,
                        Nanoseconds now);
  // The ops of a kernel by number, from 0 to before kernel.ops().
  OpId op(const ExecutedKernel& kernel, std::uint32_t number) const;
};

// Gives kernels that overlap different streams, for an engine whose communication goes on in the background
// without threads of its own. Those that are not on kComputeStream get a number from 1 on, as few as can be,
// each the lowest that is free when it starts.
class OverlapStreams {
 public:
  // So that number() allocates nothing for runs with at most that many kernels beside the computation.
  void reserve(std::size_t kernels) { free_at_.reserve(kernels); }
  // Kernels of one run in the order of their starts, with their ends.
  void number(std::span<ExecutedKernel> kernels);

 private:
  std::vector<Nanoseconds> free_at_;  // by stream, less 1; kept, so that later runs allocate nothing
};

// What an op of a kernel is. References are into the program.
struct CallOrigin {
  const Instruction& instruction;
  const Section& section;
  const Graph& graph;
  const Op& op;
};
// A record that names an op which its instruction does not have is a bug of the engine and stops the program.
CallOrigin origin_of(const Program& program, std::uint32_t instruction, OpId op);
CallOrigin origin_of(const Program& program, const ExecutedKernel& kernel);  // of its first op

// What was done, as the graph counts it: of communication, `bytes` are those that it carries.
struct CallWork {
  Flops flops;
  Bytes bytes;
};
CallWork work_of(const CallOrigin& origin);
CallWork work_of(const Program& program, const ExecutedStep& step, const ExecutedKernel& kernel);

// Kinds of its ops, of equal ones in a row one: "matmul", "matmul+gelu", "adamw".
std::string kernel_name(const Program& program, const ExecutedStep& step, const ExecutedKernel& kernel);

}  // namespace nadi::inline traces
