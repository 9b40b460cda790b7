#include "nadi/engine/cpu/cpu_engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/engine/comm/plan_groups.h"
#include "nadi/engine/cpu/comm_ops.h"
#include "nadi/engine/cpu/first_value.h"
#include "nadi/engine/cpu/parallel.h"
#include "nadi/engine/cpu/prefaulted_memory.h"
#include "nadi/engine/cpu/prepared_graph.h"
#include "nadi/engine/cpu/variable_store.h"
#include "nadi/parallel/program_memory.h"
#include "nadi/recording/executed_step.h"

namespace nadi {
namespace {

void check_instructions() {
#if defined(__x86_64__) && defined(NADI_CPU_NEEDS_V3)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
    throw environment_error("this build needs a processor with AVX2, FMA and F16C (x86-64-v3)",
                            "configure with -DNADI_CPU_MARCH=x86-64 for older ones");
#endif
}

Nanoseconds now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return Nanoseconds{duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count()};
}

// An input of a program, the same in all of its graphs that name it, with memory for each micro-batch.
struct Input {
  const Tensor* tensor = nullptr;
  std::int64_t offset = 0;  // of micro-batch 0, in the program's own memory
  std::int64_t stride = 0;  // to the next one
  std::vector<char> set = {};
};

}  // namespace

class LoadedProgram {
 public:
  struct OfGraph {
    std::unique_ptr<cpu::PreparedGraph> prepared;
    std::unique_ptr<cpu::OpRunner> runner;
    std::vector<std::byte*> addresses;  // by tensor; of those that are no views
    // Tensors whose address depends on the micro-batch.
    std::vector<std::size_t> slot_tensors;
    std::vector<std::pair<std::size_t, const Input*>> inputs;
  };
  const Program* program = nullptr;
  ProgramMemory memory;
  std::vector<OfGraph> graphs;
  std::map<std::string, Input, std::less<>> inputs;
  std::int64_t micro_batches = 1;
  cpu::PrefaultedMemory own;  // constants and inputs
};

class CpuEngine::State {
 public:
  explicit State(const CpuEngineOptions& options)
      : threads(options.threads > 0 ? options.threads : cpu::default_threads()),
        slowdown(options.slowdown),
        comm(options.groups, threads) {
    if (options.groups != nullptr)
      place = [groups = options.groups](const std::string& group) { return groups->place(group); };
  }

  // Arena and workspace serve the largest program; when a larger one comes, all programs move there.
  void make_room(Bytes arena_size, std::int64_t workspace_size, std::int64_t staging_size) {
    comm.reserve(staging_size);
    if (arena_size > Bytes{static_cast<std::int64_t>(arena.bytes().size())}) {
      arena = {};
      arena = cpu::PrefaultedMemory(arena_size, threads);
    }
    if (workspace_size > static_cast<std::int64_t>(workspace.bytes().size())) {
      workspace = {};
      workspace = cpu::PrefaultedMemory(Bytes{workspace_size}, threads);
    }
    for (const auto& loaded : programs) bind(*loaded);
  }

  // Tells a program where its tensors are.
  void bind(LoadedProgram& loaded) {
    for (std::size_t g = 0; g < loaded.graphs.size(); ++g) {
      LoadedProgram::OfGraph& of = loaded.graphs[g];
      const ProgramMemory::OfGraph& planned = loaded.memory.graphs[g];
      for (std::size_t t = 0; t < of.addresses.size(); ++t) {
        const bool in_slot = !planned.in_slot.empty() && planned.in_slot[t] != 0;
        if (planned.offsets[t] != MemoryPlan::kOutsideArena && !in_slot)
          of.addresses[t] = arena.data() + planned.offsets[t];
      }
      of.runner = std::make_unique<cpu::OpRunner>(*of.prepared, threads, workspace.bytes(), &comm);
    }
  }

  // Tells the graph where the values are that every micro-batch has its own places for.
  void place_values(LoadedProgram& program, std::size_t graph, std::int64_t micro_batch) {
    LoadedProgram::OfGraph& of = program.graphs[graph];
    const ProgramMemory::OfGraph& planned = program.memory.graphs[graph];
    for (const auto& [tensor, input] : of.inputs) {
      check(input->set[micro_batch] != 0, "an input was never set");
      of.addresses[tensor] = program.own.data() + input->offset + micro_batch * input->stride;
    }
    std::byte* slot =
        arena.data() + planned.first_slot.count() + micro_batch % planned.slots * planned.slot.count();
    for (const std::size_t tensor : of.slot_tensors) of.addresses[tensor] = slot + planned.offsets[tensor];
    for (const ProgramMemory::Ring& ring : planned.rings)
      of.addresses[index(ring.tensor)] =
          arena.data() + (ring.first + ring.stride * (micro_batch % ring.places)).count();
  }

  PlaceInGroup place;
  int threads;
  double slowdown;
  std::int64_t debt = 0;  // nanoseconds that are still to be slept
  cpu::CommOps comm;
  OverlapStreams streams;
  cpu::VariableStore variables;
  cpu::PrefaultedMemory arena;
  cpu::PrefaultedMemory workspace;
  std::vector<std::unique_ptr<LoadedProgram>> programs;
};

CpuEngine::CpuEngine(CpuEngineOptions options) : state_(std::make_unique<State>(options)) {
  check_instructions();
  cpu::set_threads(state_->threads);
}

CpuEngine::~CpuEngine() = default;

int CpuEngine::threads() const {
  return state_->threads;
}

LoadedProgram& CpuEngine::load(const Program& program) {
  auto loaded = std::make_unique<LoadedProgram>();
  loaded->program = &program;
  for (const Instruction& instruction : program.instructions)
    loaded->micro_batches = std::max<std::int64_t>(loaded->micro_batches, instruction.micro_batch + 1);
  std::int64_t workspace = 0, staging = 0;
  for (const Graph& graph : program.graphs) {
    LoadedProgram::OfGraph& of = loaded->graphs.emplace_back();
    of.prepared = std::make_unique<cpu::PreparedGraph>(graph, state_->threads, state_->comm.connected());
    workspace = std::max(workspace, of.prepared->workspace());
    staging = std::max(staging, of.prepared->staging());
  }
  loaded->memory = plan_program_memory(program);
  state_->variables.add(program.graphs, state_->place, state_->threads);

  // Constants and inputs have memory of their own.
  Bytes own;
  std::vector<std::vector<std::int64_t>> constant_offsets(program.graphs.size());
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    for (const Tensor& tensor : program.graphs[g].tensors()) {
      constant_offsets[g].push_back(-1);
      if (tensor.producer != kNoOp || tensor.variable) continue;
      if (tensor.role == Role::kConstant) {
        constant_offsets[g].back() = own.count();
        own += aligned_size(tensor.size());
        continue;
      }
      const auto [entry, fresh] = loaded->inputs.try_emplace(tensor.name);
      if (!fresh) {
        check(entry->second.tensor->shape == tensor.shape && entry->second.tensor->dtype == tensor.dtype,
              format("input '{}' differs between graphs of one program", tensor.name));
        continue;
      }
      Input& input = entry->second;
      input = {.tensor = &tensor, .offset = own.count(), .stride = aligned_size(tensor.size()).count()};
      input.set.assign(loaded->micro_batches, 0);
      own += aligned_size(tensor.size()) * loaded->micro_batches;
    }
  }
  loaded->own = cpu::PrefaultedMemory(own, 1);

  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[g];
    LoadedProgram::OfGraph& of = loaded->graphs[g];
    const ProgramMemory::OfGraph& planned = loaded->memory.graphs[g];
    of.addresses.assign(graph.tensors().size(), nullptr);
    for (std::size_t t = 0; t < graph.tensors().size(); ++t) {
      const Tensor& tensor = graph.tensors()[t];
      if (tensor.variable) {
        of.addresses[t] = state_->variables.find(tensor.name)->data;
      } else if (constant_offsets[g][t] >= 0) {
        of.addresses[t] = loaded->own.data() + constant_offsets[g][t];
        cpu::write_first_value({.tensor = tensor, .place = state_->place}, tensor.dtype, of.addresses[t]);
      } else if (tensor.producer == kNoOp) {
        of.inputs.emplace_back(t, &loaded->inputs.find(tensor.name)->second);
      } else if (!planned.in_slot.empty() && planned.in_slot[t] != 0) {
        of.slot_tensors.push_back(t);
      }
    }
  }
  state_->programs.push_back(std::move(loaded));
  LoadedProgram& result = *state_->programs.back();
  state_->make_room(result.memory.total, workspace, staging);
  return result;
}

void CpuEngine::unload(LoadedProgram& program) {
  const auto erased =
      std::erase_if(state_->programs, [&](const auto& loaded) { return loaded.get() == &program; });
  check(erased == 1, "a program that is not loaded");
}

void CpuEngine::initialize(std::uint64_t seed) {
  state_->variables.initialize(seed, state_->place, state_->threads);
}

std::vector<VariableView> CpuEngine::variables() const {
  std::vector<VariableView> views;
  for (const cpu::Variable& variable : state_->variables.all())
    views.push_back({.tensor = &variable.tensor,
                     .bytes = {variable.data, static_cast<std::size_t>(variable.tensor.size().count())}});
  return views;
}

std::optional<VariableView> CpuEngine::variable(std::string_view name) const {
  const cpu::Variable* variable = state_->variables.find(name);
  if (variable == nullptr) return std::nullopt;
  return VariableView{.tensor = &variable->tensor,
                      .bytes = {variable->data, static_cast<std::size_t>(variable->tensor.size().count())}};
}

void CpuEngine::mark_initialized(std::string_view name) {
  cpu::Variable* variable = state_->variables.find(name);
  check(variable != nullptr, "a variable that no program has");
  variable->initialized = true;
}

float CpuEngine::scalar(std::string_view name) const {
  const auto view = variable(name);
  check(view.has_value() && view->tensor->dtype == DType::kF32 && view->bytes.size() == sizeof(float),
        "not an fp32 variable of one element");
  return view->as<float>()[0];
}

bool CpuEngine::has_input(const LoadedProgram& program, std::string_view name) {
  return program.inputs.contains(name);
}

void CpuEngine::set_input_bytes(LoadedProgram& program, std::string_view name,
                                std::span<const std::byte> values, std::optional<std::int64_t> micro_batch) {
  const auto found = program.inputs.find(name);
  check(found != program.inputs.end(), "an input that the program does not have");
  Input& input = found->second;
  check(static_cast<std::int64_t>(values.size()) == input.tensor->size().count(),
        "an input with another number of bytes than the program's");
  for (std::int64_t i = 0; i < program.micro_batches; ++i) {
    if (micro_batch.has_value() && *micro_batch != i) continue;
    std::memcpy(program.own.data() + input.offset + i * input.stride, values.data(), values.size());
    input.set[i] = 1;
  }
}

namespace {

// How many kernels a run of the whole program calls.
std::size_t kernel_calls(const LoadedProgram& program) {
  std::size_t calls = 0;
  for (const Instruction& instruction : program.program->instructions) {
    const Section& section = program.program->section(instruction.section);
    calls += section.end_op - section.first_op;
  }
  return calls;
}

}  // namespace

void CpuEngine::run(LoadedProgram& program, ExecutedStep* record) {
  run(program, 0, program.program->instructions.size(), record);
}

void CpuEngine::run(LoadedProgram& program, std::size_t first, std::size_t end, ExecutedStep* record) {
  const Program& steps = *program.program;
  if (record != nullptr && first == 0) {
    record->device = {.kind = ExecutedDevice::Kind::kCpu};
    const std::size_t calls = kernel_calls(program);
    record->reserve(calls, calls);
    record->start = now();
  }
  const std::size_t first_recorded = record != nullptr ? record->kernels.size() : 0;
  for (std::size_t i = first; i < end; ++i) {
    const Instruction& instruction = steps.instructions[i];
    const Section& section = steps.section(instruction.section);
    LoadedProgram::OfGraph& of = program.graphs[section.graph];
    state_->place_values(program, section.graph, instruction.micro_batch);
    instruction_ = static_cast<std::uint32_t>(i);
    record_ = record;
    for (std::uint32_t op = section.first_op; op < section.end_op; ++op) {
      if (of.prepared->is_view(op)) continue;
      if (!state_->comm.idle()) of.runner->settle(op, of.addresses);
      const bool communicates = of.prepared->op(op).communicates;
      const bool throttled = state_->slowdown > 1 && !communicates;
      const Nanoseconds start = throttled ? now() : Nanoseconds{};
      const std::size_t recorded = record != nullptr ? record->kernels.size() : 0;
      run_op(program, section.graph, op);
      if (throttled) throttle((now() - start).count());
      if (record == nullptr || record->kernels.size() == recorded) continue;
      if (!communicates) record->kernels.back().end = now();
    }
  }
  record_ = nullptr;
  state_->comm.settle_all();
  if (record == nullptr) return;
  state_->streams.number(std::span(record->kernels).subspan(first_recorded));
  record->end = now();
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

void CpuEngine::run_op(const LoadedProgram& program, std::size_t graph, std::size_t op) {
  const LoadedProgram::OfGraph& of = program.graphs[graph];
  if (record_ != nullptr) {
    const OpId id{static_cast<std::uint32_t>(op)};
    // What communicates starts when it is handed over and ends when it is done: its stream is numbered then.
    const bool communicates = of.prepared->op(op).communicates;
    record_->enter(instruction_, std::span(&id, 1), communicates ? kSendStream : kComputeStream, now());
  }
  of.runner->run(op, of.addresses, record_);
}

Bytes CpuEngine::allocated() const {
  Bytes sum = state_->variables.allocated() + state_->comm.reserved();
  for (const auto& loaded : state_->programs)
    sum += Bytes{static_cast<std::int64_t>(loaded->own.bytes().size())};
  return sum +
         Bytes{static_cast<std::int64_t>(state_->arena.bytes().size() + state_->workspace.bytes().size())};
}

Bytes CpuEngine::held(Role role) const {
  Bytes sum;
  for (const cpu::Variable& variable : state_->variables.all())
    if (variable.tensor.role == role && !variable.tensor.shares_memory) sum += variable.tensor.size();
  return sum;
}

Bytes CpuEngine::sent() const {
  return state_->comm.sent();
}

}  // namespace nadi
