#include "nadi/cuda/cuda_engine.h"

#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/comm/op_transfer.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/cuda/captured_run.h"
#include "nadi/cuda/comm_ops.h"
#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/cuda_memory.h"
#include "nadi/cuda/device_choice.h"
#include "nadi/cuda/device_record.h"
#include "nadi/cuda/device_wait.h"
#include "nadi/cuda/kernel_activity.h"
#include "nadi/cuda/kernel_runner.h"
#include "nadi/cuda/nvtx_ranges.h"
#include "nadi/cuda/prepared_graph.h"
#include "nadi/engine/device_engine.h"
#include "nadi/engine/engine_options.h"
#include "nadi/engine/host_threads.h"
#include "nadi/engine/input_numbers.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline engines {
namespace cuda {
namespace {

Nanoseconds steady_now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return Nanoseconds{duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()};
}

// While CUPTI watches, launching a graph takes the host 2 us for each of its kernels, before the first one
// starts (measured on an H200): short graphs are launched while the one before runs.
constexpr std::size_t kKernelsPerWatchedGraph = 32;

// Calls that are given to the GPU ahead of it, one by one. It takes some 1000 launches, and a call has few.
constexpr std::uint32_t kCallsAhead = 128;

PlaceInGroup place_in(const PlanGroups* groups) {
  if (groups == nullptr) return {};
  return [groups](const std::string& group) { return groups->place(group); };
}

// A stream of its own: copies of inputs, which are made meanwhile, do not wait for it.
class Stream {
 public:
  explicit Stream(const Device& device) {
    device.make_current();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { wait_for(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Scalars of the latest runs on their way to the host, in memory that the GPU can write to.
class ScalarCopies {
 public:
  ScalarCopies() = default;
  ~ScalarCopies() {
    for (Copy& copy : copies_) {
      if (copy.done != nullptr) cudaEventDestroy(copy.done);
      if (copy.pinned != nullptr) cudaFreeHost(copy.pinned);
    }
  }
  ScalarCopies(const ScalarCopies&) = delete;
  ScalarCopies& operator=(const ScalarCopies&) = delete;

  void start(std::uint64_t run, const std::byte* from, std::span<std::byte> into, cudaStream_t stream) {
    Copy& copy = copies_[run % copies_.size()];
    if (copy.done == nullptr)
      check_cuda(cudaEventCreateWithFlags(&copy.done, cudaEventDisableTiming), "cudaEventCreate");
    else
      finish(copy);
    if (copy.pinned == nullptr && !into.empty())
      check_cuda(cudaMallocHost(&copy.pinned, into.size()), "cudaMallocHost");
    copy.into = into;
    copy.run = run;
    copy.pending = true;
    if (!into.empty())
      check_cuda(cudaMemcpyAsync(copy.pinned, from, into.size(), cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
    check_cuda(cudaEventRecord(copy.done, stream), "cudaEventRecord");
  }

  // Waits for that run and all before it.
  void wait_for(std::uint64_t run) {
    for (Copy& copy : copies_)
      if (copy.pending && copy.run <= run) finish(copy);
  }

 private:
  struct Copy {
    cudaEvent_t done = nullptr;
    void* pinned = nullptr;
    std::span<std::byte> into = {};
    std::uint64_t run = 0;
    bool pending = false;
  };
  static void finish(Copy& copy) {
    if (!copy.pending) return;
    cuda::wait_for(copy.done);
    if (!copy.into.empty()) std::memcpy(copy.into.data(), copy.pinned, copy.into.size());
    copy.pending = false;
  }

  std::array<Copy, Engine::kTicketsKept> copies_;
};

struct LoadedProgram {
  std::optional<InputNumbers> numbers;
  std::vector<std::unique_ptr<PreparedGraph>> graphs;
  std::vector<std::unique_ptr<KernelRunner>> runners;
  std::set<SectionId> has_run;  // sections whose kernels have what they need
};

// Instructions of a program with a set of inputs. A section that runs by itself, as one token after the other
// does, is the same whichever instruction runs it: its inputs are brought to one place.
struct RunKey {
  std::size_t program = 0;
  InputSet inputs = InputSet::kFirst;
  std::size_t first = 0, end = 0;
  std::optional<SectionId> section = {};
  auto operator<=>(const RunKey&) const = default;
};

RunKey key_of(std::size_t program, const BoundProgram& bound, const RunRequest& request) {
  const std::vector<Instruction>& instructions = bound.program().instructions;
  const std::size_t end = request.end.value_or(instructions.size());
  if (end - request.first == 1)
    if (const SectionId section = instructions[request.first].section; bound.is_repeated(section))
      return {.program = program, .section = section};
  return {.program = program, .inputs = request.inputs, .first = request.first, .end = end};
}

}  // namespace

// What the engine holds, made before the part of it that every engine has.
struct CudaEngineState {
  explicit CudaEngineState(const EngineOptions& options)
      : choice(choose_device(options.groups == nullptr ? nullptr : &options.groups->world(),
                             process_environment())),
        device(choice.number, options.math),
        memory(device),
        stream(device),
        comm(options.groups, device, choice) {}

  const DeviceChoice choice;
  Device device;
  CudaMemory memory;
  Stream stream;
  CommOps comm;
  std::vector<LoadedProgram> programs;
  std::map<RunKey, std::unique_ptr<CapturedRun>> captured;
  mutable ScalarCopies scalars;
  // While steps are recorded.
  std::unique_ptr<KernelActivity> activity;
  std::unique_ptr<NvtxRanges> ranges;  // while a profiler from outside records
  std::vector<OpId> ops;               // of the kernel that is entered
  // Belongs to the run under way.
  std::unique_ptr<CapturedRun> capturing;
  RunKey key;
  std::vector<std::byte*> addresses;  // of a section that runs by itself
  std::uint32_t calls = 0;
  std::size_t first_recorded = 0;
};

namespace {

class CudaEngine : private std::unique_ptr<CudaEngineState>, public DeviceEngine {
 public:
  explicit CudaEngine(const EngineOptions& options)
      : unique_ptr(std::make_unique<CudaEngineState>(options)),
        DeviceEngine(get()->memory, place_in(options.groups),
                     options.threads > 0 ? options.threads : default_threads()),
        state_(*get()) {
    if (options.slowdown > 1)
      throw usage_error("a GPU cannot be slowed down", "--slowdown is for runs on the CPU");
    set_threads(threads());
  }
  // A rank that fails does not wait for the others, and then its GPU must not either.
  ~CudaEngine() override {
    if (std::uncaught_exceptions() > 0) state_.comm.abort();
    cudaStreamSynchronize(state_.stream.get());
  }

  Bytes allocated() const override { return state_.memory.allocated(); }
  Bytes sent() const override { return state_.comm.sent(); }
  std::string remark() const override {
    return state_.comm.through_host() ? state_.choice.why_through_host : state_.comm.setup();
  }
  std::string why_no_record() const override { return KernelActivity::why_not(); }
  void mark_profiler_range(bool inside) override {
    state_.stream.wait();
    state_.ranges.reset();
    if (inside) state_.ranges = std::make_unique<NvtxRanges>();
  }
  bool runs_beside_host() const override { return !state_.comm.through_host(); }

 protected:
  KernelPlan prepare(const Program& program) override;
  void check_input(std::size_t number, std::string_view name,
                   std::span<const std::byte> values) const override {
    state_.programs[number].numbers->check(name, values);
  }
  void reserve(Bytes workspace, Bytes staging) override;
  bool replay(std::size_t number, BoundProgram& program, const RunRequest& request) override;
  void begin_run(std::size_t number, const BoundProgram& program, const RunRequest& request) override;
  void run_kernel(const KernelCallSite& call) override;
  void end_run(const RunRequest& request) override;
  void copy_scalars(std::uint64_t run, const std::byte* from, std::span<std::byte> into) override;
  void wait_for(std::uint64_t run) const override { state_.scalars.wait_for(run); }

 private:
  void settle(const KernelCallSite& call, const PreparedKernel& kernel);
  void communicate(const KernelCallSite& call);
  // Messages that go through the host are recorded as it starts and ends them, one by one.
  bool is_recorded_by_host(const RunRequest& request) const {
    return request.record != nullptr && state_.comm.through_host();
  }
  void launch(const CapturedRun& run, const RunRequest& request);
  void attach(const RunRequest& request);
  void gather_inputs(BoundProgram& program, const RunRequest& request);
  void begin_record(const RunRequest& request, std::size_t kernels, std::size_t ops);
  void end_record(const RunRequest& request);
  void enter(ExecutedStep& record, const CapturedRun::Call& call);

  CudaEngineState& state_;
};

KernelPlan CudaEngine::prepare(const Program& program) {
  LoadedProgram& loaded = state_.programs.emplace_back();
  loaded.numbers.emplace(program);
  std::vector<const PreparedGraph*> graphs;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    loaded.graphs.push_back(std::make_unique<PreparedGraph>(
        program, g, PrepareOptions{.traits = state_.device.traits(), .connected = state_.comm.connected()}));
    graphs.push_back(loaded.graphs.back().get());
  }
  if (state_.comm.connected()) state_.comm.connect(program);
  return kernel_plan_of(graphs);
}

void CudaEngine::reserve(Bytes workspace, Bytes staging) {
  state_.device.make_current();
  state_.comm.reserve(staging, state_.memory.allocate(staging));
  const std::span bytes{state_.memory.allocate(workspace), static_cast<std::size_t>(workspace.count())};
  for (LoadedProgram& program : state_.programs)
    for (const auto& graph : program.graphs)
      program.runners.push_back(std::make_unique<KernelRunner>(*graph, state_.device, bytes));
}

// Graphs that were made while the profiler was attached are slow, and those from before are not watched.
void CudaEngine::attach(const RunRequest& request) {
  const bool wanted = request.record != nullptr;
  if (wanted == (state_.activity != nullptr)) return;
  state_.stream.wait();
  state_.captured.clear();
  state_.activity.reset();
  if (wanted) state_.activity = std::make_unique<KernelActivity>(state_.device.number());
}

void CudaEngine::gather_inputs(BoundProgram& program, const RunRequest& request) {
  const Instruction& instruction = program.program().instructions[request.first];
  const Section& section = program.program().section(instruction.section);
  const std::span<std::byte* const> addresses =
      program.place(section.graph, instruction.micro_batch, request.inputs);
  state_.addresses.assign(addresses.begin(), addresses.end());
  for (const BoundProgram::GatheredInput& input : program.gathered_inputs(instruction.section)) {
    check_cuda(cudaMemcpyAsync(input.address, addresses[index(input.tensor)], input.size,
                               cudaMemcpyDeviceToDevice, state_.stream.get()),
               "cudaMemcpyAsync");
    state_.addresses[index(input.tensor)] = input.address;
  }
}

bool CudaEngine::replay(std::size_t number, BoundProgram& program, const RunRequest& request) {
  state_.device.make_current();
  attach(request);
  state_.key = key_of(number, program, request);
  if (state_.key.section) gather_inputs(program, request);
  if (is_recorded_by_host(request)) return false;
  const auto found = state_.captured.find(state_.key);
  if (found == state_.captured.end() || state_.ranges != nullptr) return false;
  launch(*found->second, request);
  return true;
}

void CudaEngine::launch(const CapturedRun& run, const RunRequest& request) {
  if (request.record == nullptr) {
    run.launch(state_.comm);
    return;
  }
  std::size_t ops = 0;
  for (const CapturedRun::Call& call : run.calls) ops += call.end_op - call.first_op;
  begin_record(request, run.calls.size(), ops);
  for (CapturedRun::Call call : run.calls) {
    // A section that runs by itself was captured for one of its instructions.
    if (state_.key.section) call.instruction = static_cast<std::uint32_t>(request.first);
    enter(*request.record, call);
  }
  run.launch(state_.comm);
  end_record(request);
}

void CudaEngine::begin_record(const RunRequest& request, std::size_t kernels, std::size_t ops) {
  ExecutedStep& record = *request.record;
  state_.stream.wait();
  record.reserve(kernels, ops);
  state_.first_recorded = record.kernels.size();
  if (state_.activity != nullptr) state_.activity->begin_step();
  if (request.first != 0) return;
  record.device = device_record(state_.device);
  record.start = steady_now();
}

void CudaEngine::end_record(const RunRequest& request) {
  state_.stream.wait();
  request.record->end = steady_now();
  if (state_.activity != nullptr) state_.activity->end_step(*request.record, state_.first_recorded);
}

void CudaEngine::enter(ExecutedStep& record, const CapturedRun::Call& call) {
  state_.ops.clear();
  const LoadedProgram& program = state_.programs[state_.key.program];
  const Graph& graph = program.graphs[call.graph]->graph();
  for (std::uint32_t op = call.first_op; op < call.end_op; ++op)
    if (definition(graph.ops()[op].kind).op_class != OpClass::kView) state_.ops.push_back(OpId{op});
  const StreamId stream = call.communicates ? transfer_stream(graph.ops()[call.first_op]) : kComputeStream;
  record.enter(call.instruction, state_.ops, stream, steady_now());
}

void CudaEngine::begin_run(std::size_t number, const BoundProgram& program, const RunRequest& request) {
  state_.calls = 0;
  const std::vector<Instruction>& instructions = program.program().instructions;
  const std::size_t end = request.end.value_or(instructions.size());
  const LoadedProgram& loaded = state_.programs[number];
  bool all_have_run = true;
  for (std::size_t i = request.first; i < end; ++i)
    all_have_run = all_have_run && loaded.has_run.contains(instructions[i].section);
  if (all_have_run && !is_recorded_by_host(request) && state_.ranges == nullptr) {
    const bool watched = state_.activity != nullptr;
    state_.capturing = std::make_unique<CapturedRun>(
        state_.stream.get(), watched ? kKernelsPerWatchedGraph : CapturedRun::kKernelsPerGraph);
    if (state_.comm.through_host()) state_.comm.rehearse(true);
  } else if (request.record != nullptr) {
    begin_record(request, program.kernel_calls(), program.op_calls());
  }
}

// Kernels come after messages that use their memory.
void CudaEngine::settle(const KernelCallSite& call, const PreparedKernel& kernel) {
  const PreparedGraph& graph = *state_.programs[call.number].graphs[call.graph];
  const auto settle_operands = [&](const std::vector<PreparedOperand>& operands, bool writes) {
    for (const PreparedOperand& operand : operands) {
      if (operand.tensor == nullptr || call.addresses[index(operand.root)] == nullptr) continue;
      const std::int64_t size = std::max(graph.bytes_of(operand.root), operand.tensor->size().count());
      std::byte* const address = call.addresses[index(operand.root)];
      if (!state_.comm.settle(address, size, writes, state_.stream.get())) continue;
      if (state_.capturing != nullptr && state_.comm.through_host())
        state_.capturing->settle(address, size, writes);
    }
  };
  for (const PreparedOp& op : kernel.ops) {
    settle_operands(op.inputs, false);
    settle_operands(op.outputs, true);
  }
}

void CudaEngine::run_kernel(const KernelCallSite& given) {
  const KernelCallSite call{.program = given.program,
                            .number = given.number,
                            .instruction = given.instruction,
                            .graph = given.graph,
                            .kernel = given.kernel,
                            .addresses = state_.key.section ? state_.addresses : given.addresses,
                            .record = given.record};
  LoadedProgram& program = state_.programs[call.number];
  program.has_run.insert(call.program.program().instructions[call.instruction].section);
  const PreparedKernel& kernel = program.graphs[call.graph]->kernels()[call.kernel];
  const CapturedRun::Call noted{.instruction = call.instruction,
                                .first_op = kernel.first_op,
                                .end_op = kernel.end_op,
                                .graph = call.graph,
                                .communicates = kernel.communicates};
  if (state_.capturing != nullptr)
    state_.capturing->calls.push_back(noted);
  else if (call.record != nullptr)
    enter(*call.record, noted);
  if (state_.comm.connected() && !state_.comm.idle()) settle(call, kernel);
  if (state_.activity != nullptr) state_.activity->enter(state_.calls);
  if (state_.ranges != nullptr)
    state_.ranges->enter(origin_of(call.program.program(), call.instruction, OpId{kernel.first_op}));
  ++state_.calls;
  if (kernel.communicates) {
    communicate(call);
  } else {
    // Beside ranks that may be gone the host does not stand in the launch of a kernel, where nobody would see it.
    if (state_.capturing == nullptr && state_.comm.connected() && state_.calls % kCallsAhead == 0)
      state_.stream.wait();
    if (state_.capturing != nullptr) state_.capturing->begin_kernel();
    program.runners[call.graph]->run(call.kernel, call.addresses, state_.stream.get());
  }
  if (state_.activity != nullptr) state_.activity->leave();
  if (state_.capturing == nullptr || kernel.communicates) return;
  state_.capturing->end_kernel(state_.comm.idle());
}

void CudaEngine::communicate(const KernelCallSite& call) {
  const OpCall& op =
      state_.programs[call.number].runners[call.graph]->bind(call.kernel, call.addresses).front();
  if (state_.capturing == nullptr) {
    state_.comm.start(op, state_.stream.get(), call.record);
    return;
  }
  if (state_.comm.through_host()) {
    state_.capturing->start(op);
    state_.comm.start(op, state_.stream.get());  // keeps track of memory only
    return;
  }
  state_.capturing->begin_kernel();
  state_.comm.start(op, state_.stream.get());
  state_.capturing->end_kernel(false);
  state_.capturing->add_sent(CommOps::sent_by(op));
}

void CudaEngine::end_run(const RunRequest& request) {
  if (state_.ranges != nullptr) state_.ranges->end_run();
  if (state_.capturing == nullptr) {
    state_.comm.settle_all(state_.stream.get());
    if (request.record != nullptr) end_record(request);
    return;
  }
  if (state_.comm.settle_all(state_.stream.get()) && state_.comm.through_host())
    state_.capturing->settle_all();
  state_.capturing->finish();
  if (state_.comm.through_host()) state_.comm.rehearse(false);
  const auto [place, fresh] = state_.captured.insert_or_assign(state_.key, std::move(state_.capturing));
  state_.capturing.reset();
  launch(*place->second, request);
}

void CudaEngine::copy_scalars(std::uint64_t run, const std::byte* from, std::span<std::byte> into) {
  state_.scalars.start(run, from, into, state_.stream.get());
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Engine> make_cuda_engine(const EngineOptions& options) {
  return std::make_unique<cuda::CudaEngine>(options);
}

}  // namespace nadi::inline engines
