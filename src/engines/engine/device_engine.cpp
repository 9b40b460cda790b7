#include "nadi/engine/device_engine.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline engines {

DeviceEngine::DeviceEngine(DeviceMemory& memory, PlaceInGroup place, int threads)
    : memory_(memory), place_(std::move(place)), threads_(threads) {}

ProgramHandle DeviceEngine::load(const Program& program) {
  check(!bound_, "a program is loaded after memory was laid out");
  programs_.push_back(std::make_unique<BoundProgram>(program, prepare(program)));
  variables_.add(program, programs_.back()->kernels().spare);
  return ProgramHandle{static_cast<std::uint32_t>(programs_.size() - 1)};
}

// Values and workspace serve the largest program, since programs run one after the other.
void DeviceEngine::bind() {
  check(!bound_, "memory is laid out once");
  bound_ = true;
  Bytes arena, workspace, staging;
  for (const auto& program : programs_) {
    arena = std::max(arena, program->arena());
    workspace = std::max(workspace, program->kernels().workspace);
    staging = std::max(staging, program->kernels().staging);
  }
  variables_.bind(memory_, place_, threads_);
  reserve(workspace, staging);
  std::byte* const values = memory_.allocate(arena);
  for (const auto& program : programs_) program->bind(memory_, variables_, place_, values);
  for (std::vector<std::byte>& copy : scalars_)
    copy.resize(static_cast<std::size_t>(variables_.scalar_bytes()));
}

BoundProgram& DeviceEngine::program_of(ProgramHandle handle) const {
  check(bound_, "programs are bound before they are used");
  return *programs_[static_cast<std::size_t>(handle)];
}

void DeviceEngine::wait_for_all() const {
  if (runs_ > 0) wait_for(runs_ - 1);
}

std::vector<const Tensor*> DeviceEngine::variables() const {
  std::vector<const Tensor*> tensors;
  for (const Variable& variable : variables_.all()) tensors.push_back(&variable.tensor);
  return tensors;
}

const Tensor* DeviceEngine::find_variable(std::string_view name) const {
  const Variable* variable = variables_.find(name);
  return variable == nullptr ? nullptr : &variable->tensor;
}

namespace {

std::byte* elements_of(const Variable& variable, std::int64_t first, std::size_t bytes) {
  const std::int64_t offset = first * size_of(variable.tensor.dtype);
  check(variable.data != nullptr, "programs are bound before their variables are used");
  check(first >= 0 && offset + static_cast<std::int64_t>(bytes) <= variable.tensor.size().count(),
        "elements outside of their variable");
  return variable.data + offset;
}

}  // namespace

void DeviceEngine::read(std::string_view name, std::int64_t first, std::span<std::byte> into) const {
  wait_for_all();
  memory_.read(elements_of(variables_.at(name), first, into.size()), into);
}

void DeviceEngine::write(std::string_view name, std::int64_t first, std::span<const std::byte> from) {
  wait_for_all();
  memory_.write(elements_of(variables_.at(name), first, from.size()), from);
  variables_.find(name)->initialized = true;
}

void DeviceEngine::initialize(std::uint64_t seed) {
  check(bound_, "programs are bound before their variables are used");
  variables_.initialize(seed);
}

bool DeviceEngine::has_input(ProgramHandle program, std::string_view name) const {
  return program_of(program).has_input(name);
}

void DeviceEngine::set_input_bytes(ProgramHandle program, InputSet set, std::string_view name,
                                   std::span<const std::byte> values,
                                   std::optional<std::int64_t> micro_batch) {
  check_input(static_cast<std::size_t>(program), name, values);
  if (const std::uint64_t runs = runs_of_set_[static_cast<std::size_t>(set)]; runs > 0) wait_for(runs - 1);
  program_of(program).set_input(set, name, values, micro_batch);
}

Ticket DeviceEngine::run(ProgramHandle handle, const RunRequest& request) {
  BoundProgram& bound = program_of(handle);
  const Program& program = bound.program();
  if (!replay(static_cast<std::size_t>(handle), bound, request)) {
    begin_run(static_cast<std::size_t>(handle), bound, request);
    const std::size_t end = request.end.value_or(program.instructions.size());
    for (std::size_t i = request.first; i < end; ++i) {
      const Instruction& instruction = program.instructions[i];
      const std::size_t graph = program.section(instruction.section).graph;
      const std::span<std::byte* const> addresses =
          bound.place(graph, instruction.micro_batch, request.inputs);
      const BoundProgram::KernelRange kernels = bound.kernels_of(instruction.section);
      for (std::uint32_t kernel = kernels.first; kernel < kernels.end; ++kernel)
        run_kernel({.program = bound,
                    .number = static_cast<std::size_t>(handle),
                    .instruction = static_cast<std::uint32_t>(i),
                    .graph = graph,
                    .kernel = kernel,
                    .addresses = addresses,
                    .record = request.record});
    }
    end_run(request);
  }
  copy_scalars(runs_, variables_.scalars(), scalars_[runs_ % kTicketsKept]);
  runs_of_set_[static_cast<std::size_t>(request.inputs)] = runs_ + 1;
  return Ticket{runs_++};
}

void DeviceEngine::wait(Ticket ticket) {
  check(static_cast<std::uint64_t>(ticket) < runs_, "a ticket that nobody was given");
  wait_for(static_cast<std::uint64_t>(ticket));
}

double DeviceEngine::scalar(Ticket ticket, std::string_view variable) {
  const auto number = static_cast<std::uint64_t>(ticket);
  check(number < runs_ && number + kTicketsKept >= runs_, "the scalars of this run are no longer kept");
  wait_for(number);
  return variables_.scalar(variable, scalars_[number % kTicketsKept]);
}

Bytes DeviceEngine::held(Role role) const {
  Bytes sum;
  for (const Variable& variable : variables_.all())
    if (variable.tensor.role == role && !variable.tensor.shares_memory) sum += variable.tensor.size();
  return sum;
}

std::size_t checked_elements(const Engine& engine, std::string_view variable, std::size_t element_size) {
  const Tensor* tensor = engine.find_variable(variable);
  check(tensor != nullptr, format("a variable that no program has: '{}'", variable));
  check(static_cast<std::size_t>(size_of(tensor->dtype)) == element_size,
        format("variable '{}' has another element type", variable));
  return static_cast<std::size_t>(tensor->shape.elements());
}

}  // namespace nadi::inline engines
