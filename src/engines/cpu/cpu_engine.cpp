#include "nadi/cpu/cpu_engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/comm/op_transfers.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/cpu/cpu_description.h"
#include "nadi/cpu/host_memory.h"
#include "nadi/cpu/host_mover.h"
#include "nadi/cpu/prepared_graph.h"
#include "nadi/engine/host_threads.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline engines {
namespace {

Nanoseconds now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return Nanoseconds{duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()};
}

PlaceInGroup place_of(const PlanGroups* groups) {
  if (groups == nullptr) return {};
  return [groups](const std::string& group) { return groups->place(group); };
}

int threads_of(const EngineOptions& options) {
  return options.threads > 0 ? options.threads : default_threads();
}

// Elementwise updates, without workspace: of neighbouring variables one call does all.
constexpr std::array kFusable{OpKind::kFill, OpKind::kAdamW, OpKind::kSgd};

struct PreparedProgram {
  KernelPlan plan;
  std::vector<std::unique_ptr<cpu::PreparedGraph>> graphs;
  std::size_t most_ops = 1;  // of one kernel
};

PreparedProgram prepare_for_cpu(const Program& program, int threads, bool connected) {
  PreparedProgram prepared;
  std::int64_t workspace = 0, staging = 0;
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const std::vector<OpRun> fused = neighbouring_ops(program, g, kFusable);
    prepared.graphs.push_back(std::make_unique<cpu::PreparedGraph>(
        program.graphs[g], cpu::PrepareOptions{.threads = threads, .connected = connected, .fused = fused}));
    const cpu::PreparedGraph& graph = *prepared.graphs.back();
    std::vector<PlannedKernel>& kernels = prepared.plan.graphs.emplace_back();
    for (const cpu::PreparedKernel& kernel : graph.kernels()) {
      kernels.push_back({.first_op = kernel.first_op,
                         .end_op = kernel.end_op,
                         .workspace = Bytes{kernel.workspace},
                         .communicates = kernel.communicates()});
      prepared.most_ops = std::max<std::size_t>(prepared.most_ops, kernel.end_op - kernel.first_op);
    }
    workspace = std::max(workspace, graph.workspace());
    staging = std::max(staging, graph.staging());
  }
  prepared.plan.workspace = Bytes{workspace};
  prepared.plan.staging = OpTransfers::reserved_for(staging);
  return prepared;
}

// Communication of a whole run: how much of it overlaps differs from run to run.
std::size_t messages_of(const Program& program) {
  std::size_t messages = 0;
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      messages += meets_others(program.graph_of(section).ops()[i]);
  }
  return messages;
}

}  // namespace

class CpuEngineState {
 public:
  explicit CpuEngineState(const EngineOptions& options)
      : threads(threads_of(options)),
        slowdown(options.slowdown),
        memory(threads),
        mover(threads),
        comm({.groups = options.groups, .mover = &mover}) {}

  struct Loaded {
    std::vector<std::unique_ptr<cpu::PreparedGraph>> graphs;
    std::vector<std::unique_ptr<cpu::KernelRunner>> runners;
  };

  const int threads;
  const double slowdown;
  std::int64_t debt = 0;  // nanoseconds that are still to be slept
  cpu::HostMemory memory;
  cpu::HostMover mover;
  OpTransfers comm;
  std::vector<Loaded> programs;
  // Where a run is recorded.
  std::size_t first_recorded = 0;  // of the run under way
  std::vector<OpId> ops;           // of the kernel that is entered
  OverlapStreams streams;
  std::optional<ProcessorUse> use_before;
};

CpuEngineStateOwner::CpuEngineStateOwner(const EngineOptions& options)
    : state_(std::make_unique<CpuEngineState>(options)) {}
CpuEngineStateOwner::~CpuEngineStateOwner() = default;

CpuEngine::CpuEngine(const EngineOptions& options)
    : CpuEngineStateOwner(options), DeviceEngine(state_->memory, place_of(options.groups), state_->threads) {
  cpu::check_instructions();
  set_threads(1);
  cpu::prepare_gemm();
  set_threads(state_->threads);
}

CpuEngine::~CpuEngine() = default;

KernelPlan plan_cpu_kernels(const Program& program, int threads, bool connected) {
  return prepare_for_cpu(program, threads > 0 ? threads : default_threads(), connected).plan;
}

KernelPlan CpuEngine::prepare(const Program& program) {
  PreparedProgram prepared = prepare_for_cpu(program, state_->threads, state_->comm.connected());
  state_->ops.reserve(prepared.most_ops);
  state_->streams.reserve(messages_of(program));
  state_->programs.push_back({.graphs = std::move(prepared.graphs), .runners = {}});
  return std::move(prepared.plan);
}

void CpuEngine::reserve(Bytes workspace, Bytes staging) {
  state_->comm.reserve(staging, state_->memory.allocate(staging));
  const std::span bytes{state_->memory.allocate(workspace), static_cast<std::size_t>(workspace.count())};
  for (CpuEngineState::Loaded& program : state_->programs)
    for (const auto& graph : program.graphs)
      program.runners.push_back(
          std::make_unique<cpu::KernelRunner>(*graph, state_->threads, bytes, &state_->comm));
}

void CpuEngine::begin_run(std::size_t, const BoundProgram& program, const RunRequest& request) {
  if (request.record == nullptr) return;
  ExecutedStep& record = *request.record;
  if (request.first == 0) {
    record.device = {.kind = ExecutedDevice::Kind::kCpu};
    record.reserve(program.kernel_calls(), program.op_calls());
    state_->use_before = processor_use_so_far();
    record.start = now();
  }
  state_->first_recorded = record.kernels.size();
}

void CpuEngine::run_kernel(const KernelCallSite& call) {
  cpu::KernelRunner& runner = *state_->programs[call.number].runners[call.graph];
  if (!state_->comm.idle()) runner.settle(call.kernel, call.addresses);
  const PlannedKernel& kernel = call.planned();
  const bool throttled = state_->slowdown > 1 && !kernel.communicates;
  const Nanoseconds start = throttled || call.record != nullptr ? now() : Nanoseconds{};
  if (call.record != nullptr) record_entry(call, start);
  runner.run(call.kernel, call.addresses, call.record);
  if (throttled) throttle((now() - start).count());
  if (call.record != nullptr && !kernel.communicates) call.record->kernels.back().end = now();
}

// What communicates goes on beside the computation: which number its stream has is decided when it is done.
void CpuEngine::record_entry(const KernelCallSite& call, Nanoseconds start) {
  const PlannedKernel& kernel = call.planned();
  state_->ops.clear();
  for (std::uint32_t op = kernel.first_op; op < kernel.end_op; ++op) state_->ops.push_back(OpId{op});
  call.record->enter(call.instruction, state_->ops, kernel.communicates ? kSendStream : kComputeStream,
                     start);
}

void CpuEngine::end_run(const RunRequest& request) {
  state_->comm.settle_all();
  if (request.record == nullptr) return;
  state_->streams.number(std::span(request.record->kernels).subspan(state_->first_recorded));
  request.record->end = now();
  if (const auto use = processor_use_so_far(); use && state_->use_before)
    request.record->processors = *use - *state_->use_before;
}

void CpuEngine::copy_scalars(std::uint64_t, const std::byte* from, std::span<std::byte> into) {
  state_->memory.read(from, into);
}

// Sleeps are too coarse for single kernels: they are saved up.
void CpuEngine::throttle(std::int64_t nanoseconds) {
  constexpr std::int64_t kWorthSleeping = 200'000;
  state_->debt += static_cast<std::int64_t>(static_cast<double>(nanoseconds) * (state_->slowdown - 1));
  if (state_->debt < kWorthSleeping) return;
  const Nanoseconds start = now();
  std::this_thread::sleep_for(std::chrono::nanoseconds(state_->debt));
  state_->debt -= (now() - start).count();
}

Bytes CpuEngine::allocated() const {
  return state_->memory.allocated();
}

Bytes CpuEngine::sent() const {
  return state_->comm.sent();
}

}  // namespace nadi::inline engines
