#include "nadi/reference/reference_engine.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <set>
#include <thread>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/comm/steady_time.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/executed_step.h"
#include "nadi/reference/double_elements.h"
#include "nadi/reference/run_reference.h"

namespace nadi::inline engines {
namespace {

bool is_input(const Tensor& tensor) {
  return tensor.role == Role::kInput && tensor.producer == kNoOp && !tensor.variable;
}

Bytes size_in_doubles(const Tensor& tensor) {
  return Bytes{tensor.shape.elements() * static_cast<std::int64_t>(sizeof(double))};
}

// Notes what runs; does nothing without a record.
class Recorder {
 public:
  Recorder(ExecutedStep* record, bool starts_step) : record_(record) {
    if (record_ == nullptr) return;
    first_ = open_ = record_->kernels.size();
    record_->device = {.kind = ExecutedDevice::Kind::kReference};
    if (starts_step) record_->start = steady_time();
  }

  // The op that the interpreter is about to run; its start.
  Nanoseconds enter(std::size_t instruction, const Interpreter& rank) {
    const Nanoseconds now = steady_time();
    if (record_ == nullptr || definition(rank.waiting_at().op.kind).op_class == OpClass::kView) return now;
    const OpId op = rank.op_id();
    record_->enter(static_cast<std::uint32_t>(instruction), {&op, 1},
                   rank.meets_others() ? kSendStream : kComputeStream, now);
    return now;
  }

  // Everything that was entered is done.
  void leave() {
    if (record_ == nullptr) return;
    for (; open_ < record_->kernels.size(); ++open_) record_->kernels[open_].end = steady_time();
  }

  void finish(OverlapStreams& streams) {
    if (record_ == nullptr) return;
    leave();
    streams.number(std::span(record_->kernels).subspan(first_));
    record_->end = steady_time();
  }

 private:
  ExecutedStep* record_;
  std::size_t first_ = 0, open_ = 0;
};

// The values of a graph for one micro-batch.
using SlotKey = std::pair<std::size_t, std::int32_t>;

}  // namespace

struct ReferenceEngine::LoadedProgram {
  explicit LoadedProgram(const Program& of) : program(of) {
    std::set<SlotKey> later;
    last_of_slot.resize(of.instructions.size());
    for (std::size_t i = of.instructions.size(); i-- > 0;) last_of_slot[i] = later.insert(key(i)).second;
    std::int64_t micro_batches = 1;
    for (const Instruction& instruction : of.instructions)
      micro_batches = std::max<std::int64_t>(micro_batches, instruction.micro_batch + 1);
    for (std::vector<ReferenceStore>& set : inputs) set.resize(micro_batches);
    for (const Graph& graph : of.graphs)
      for (const Tensor& tensor : graph.tensors())
        if (is_input(tensor)) input_tensors.try_emplace(tensor.name, &tensor);
  }

  SlotKey key(std::size_t instruction) const {
    const Instruction& at = program.instructions[instruction];
    return {program.section(at.section).graph, at.micro_batch};
  }

  const Program& program;
  std::map<std::string_view, const Tensor*> input_tensors;
  std::array<std::vector<ReferenceStore>, kInputSets> inputs;  // by micro-batch
  std::map<SlotKey, ReferenceSlot> slots;
  std::vector<char> last_of_slot;  // by instruction: no later one reads the slot
};

KernelPlan plan_reference_kernels(const Program& program) {
  KernelPlan plan;
  for (const Graph& graph : program.graphs) {
    std::vector<PlannedKernel>& kernels = plan.graphs.emplace_back();
    for (std::uint32_t op = 0; op < graph.ops().size(); ++op)
      if (definition(graph.ops()[op].kind).op_class != OpClass::kView)
        kernels.push_back({.first_op = op, .end_op = op + 1, .communicates = meets_others(graph.ops()[op])});
  }
  return plan;
}

ReferenceEngine::ReferenceEngine(const EngineOptions& options)
    : slowdown_(options.slowdown), connected_(options.groups != nullptr), meetings_(options.groups) {
  if (options.groups != nullptr)
    place_ = [groups = options.groups](const std::string& group) { return groups->place(group); };
}

ReferenceEngine::~ReferenceEngine() = default;

ReferenceEngine::LoadedProgram& ReferenceEngine::program_of(ProgramHandle handle) const {
  return *programs_[static_cast<std::size_t>(handle)];
}

ProgramHandle ReferenceEngine::load(const Program& program) {
  check(!bound_, "programs are loaded before they are bound");
  for (const Graph& graph : program.graphs) {
    for (const Op& op : graph.ops())
      if (!connected_ && meets_others(op))
        throw environment_error(
            format("op '{}' ({}) communicates, and there are no other ranks", op.name, to_string(op.kind)));
    for (const Tensor& tensor : graph.tensors())
      if (tensor.variable && by_name_.try_emplace(tensor.name, variables_.size()).second)
        variables_.push_back(&tensor);
  }
  programs_.push_back(std::make_unique<LoadedProgram>(program));
  return ProgramHandle{static_cast<std::uint32_t>(programs_.size() - 1)};
}

void ReferenceEngine::bind() {
  check(!std::exchange(bound_, true), "programs are bound once");
}

std::vector<const Tensor*> ReferenceEngine::variables() const {
  return variables_;
}

const Tensor* ReferenceEngine::find_variable(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : variables_[found->second];
}

const Tensor& ReferenceEngine::variable(std::string_view name, std::int64_t first, std::size_t bytes) const {
  const Tensor* tensor = find_variable(name);
  check(tensor != nullptr, "a variable that no program has");
  const auto count = static_cast<std::int64_t>(bytes) / size_of(tensor->dtype);
  check(first >= 0 && first + count <= tensor->shape.elements(), "elements that a variable does not have");
  return *tensor;
}

// A variable without a value reads as zeros, as fresh memory does.
void ReferenceEngine::read(std::string_view name, std::int64_t first, std::span<std::byte> into) const {
  const Tensor& tensor = variable(name, first, into.size());
  const Doubles* values = store_.find(name);
  if (values == nullptr) {
    std::ranges::fill(into, std::byte{0});
    return;
  }
  const auto count = static_cast<std::int64_t>(into.size()) / size_of(tensor.dtype);
  from_doubles(std::span(*values).subspan(first, count), tensor.dtype, into);
}

void ReferenceEngine::write(std::string_view name, std::int64_t first, std::span<const std::byte> from) {
  const Tensor& tensor = variable(name, first, from.size());
  Doubles& values = store_[name];
  values.resize(tensor.shape.elements());
  const Doubles written = to_doubles(from, tensor.dtype);
  std::ranges::copy(written, values.begin() + first);
  // What lies within other variables has their values: here it is a copy, which is made anew.
  std::size_t stale = 0;
  for (const Tensor* other : variables_)
    if (other->shares_memory) stale += store_.erase(other->name);
  if (stale > 0 && seed_) initialize(*seed_);
}

void ReferenceEngine::initialize(std::uint64_t seed) {
  seed_ = seed;
  for (const auto& loaded : programs_)
    for (const Graph& graph : loaded->program.graphs) nadi::initialize(graph, store_, seed, place_);
}

bool ReferenceEngine::has_input(ProgramHandle program, std::string_view name) const {
  return program_of(program).input_tensors.contains(name);
}

void ReferenceEngine::set_input_bytes(ProgramHandle handle, InputSet set, std::string_view name,
                                      std::span<const std::byte> values,
                                      std::optional<std::int64_t> micro_batch) {
  LoadedProgram& program = program_of(handle);
  const auto found = program.input_tensors.find(name);
  check(found != program.input_tensors.end(), "an input that the program does not have");
  const Tensor& tensor = *found->second;
  check(static_cast<std::int64_t>(values.size()) == tensor.size().count(),
        "another number of elements, or another type, than the input has");
  std::vector<ReferenceStore>& inputs = program.inputs[static_cast<std::size_t>(set)];
  const Doubles doubles = to_doubles(values, tensor.dtype);
  for (std::size_t m = 0; m < inputs.size(); ++m)
    if (!micro_batch || static_cast<std::size_t>(*micro_batch) == m) inputs[m].set(name, doubles);
}

Ticket ReferenceEngine::run(ProgramHandle handle, const RunRequest& request) {
  LoadedProgram& program = program_of(handle);
  const std::size_t end = request.end.value_or(program.program.instructions.size());
  if (request.first == 0) program.slots.clear();
  run_instructions(program, request, end);
  const Ticket ticket{runs_++};
  keep_scalars(ticket);
  return ticket;
}

// A section of transfers has one op. Transfers that are posted together (with_next) end together: each waits
// in its interpreter until all of them are posted.
void ReferenceEngine::run_instructions(LoadedProgram& loaded, const RunRequest& request, std::size_t end) {
  const Program& program = loaded.program;
  Recorder recorder(request.record, request.first == 0);
  std::vector<ReferenceStore>& inputs = loaded.inputs[static_cast<std::size_t>(request.inputs)];
  std::list<Interpreter> group;
  std::size_t first_of_group = request.first;
  for (std::size_t i = request.first; i < end; ++i) {
    const Instruction& instruction = program.instructions[i];
    const Section& section = program.section(instruction.section);
    Interpreter& rank =
        group.emplace_back(store_, std::vector{ReferenceTask{.graph = &program.graph_of(section),
                                                             .ops = {section.first_op, section.end_op},
                                                             .slot = &loaded.slots[loaded.key(i)],
                                                             .inputs = &inputs[instruction.micro_batch]}});
    while (!rank.done()) {
      const bool meets = rank.meets_others();
      const Nanoseconds start = recorder.enter(i, rank);
      if (!meets) {
        rank.run_op();
        slow_down(steady_time() - start);
        recorder.leave();
        continue;
      }
      meetings_.start(rank);
      if (instruction.with_next) break;
      meetings_.finish();
      recorder.leave();
    }
    if (instruction.with_next) continue;
    for (const Interpreter& member : group) check(member.done(), "a transfer goes on after its group");
    group.clear();
    for (; first_of_group <= i; ++first_of_group)
      if (loaded.last_of_slot[first_of_group] != 0) loaded.slots.erase(loaded.key(first_of_group));
  }
  meetings_.end_step();
  recorder.finish(streams_);
}

void ReferenceEngine::slow_down(Nanoseconds computed) const {
  if (slowdown_ <= 1) return;
  std::this_thread::sleep_for(std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(computed.count()) * (slowdown_ - 1))));
}

void ReferenceEngine::keep_scalars(Ticket ticket) {
  Finished& finished = finished_[static_cast<std::uint64_t>(ticket) % kTicketsKept];
  finished = {.ticket = ticket};
  for (const Tensor* tensor : variables_) {
    const bool told = tensor->role == Role::kMetric || tensor->role == Role::kCounter;
    if (told && tensor->shape.elements() == 1 && store_.contains(tensor->name))
      finished.scalars[tensor->name] = store_.get(tensor->name).front();
  }
}

double ReferenceEngine::scalar(Ticket ticket, std::string_view name) {
  const Finished& finished = finished_[static_cast<std::uint64_t>(ticket) % kTicketsKept];
  check(finished.ticket == ticket, "the scalars of a run that is too long ago");
  const auto found = finished.scalars.find(name);
  check(found != finished.scalars.end(), "a scalar that no program has");
  return found->second;
}

// Variables and inputs; values come and go.
Bytes ReferenceEngine::allocated() const {
  Bytes sum;
  for (const Tensor* tensor : variables_) sum += size_in_doubles(*tensor);
  for (const auto& loaded : programs_)
    for (const auto& [name, tensor] : loaded->input_tensors)
      sum += size_in_doubles(*tensor) * static_cast<std::int64_t>(kInputSets * loaded->inputs[0].size());
  return sum;
}

Bytes ReferenceEngine::held(Role role) const {
  Bytes sum;
  for (const Tensor* tensor : variables_)
    if (tensor->role == role && !tensor->shares_memory) sum += size_in_doubles(*tensor);
  return sum;
}

}  // namespace nadi::inline engines
