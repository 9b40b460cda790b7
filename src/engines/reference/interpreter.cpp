#include "nadi/reference/interpreter.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

// Ids, lengths and positions are doubles here; anything else than an integer in them is a mistake.
void check_integers(const Tensor& tensor, const Doubles& values) {
  constexpr double kLargest = 0x1p53;
  for (const double value : values)
    if (!(std::abs(value) <= kLargest) || value != std::trunc(value))
      throw input_error({}, format("input '{}' of type {} holds {}, which is no integer", tensor.name,
                                   to_string(tensor.dtype), value));
}

std::string_view what_is(const Tensor& tensor) {
  if (tensor.variable) return "variable";
  if (tensor.role == Role::kInput) return "input";
  if (tensor.role == Role::kConstant) return "constant";
  return "value";
}

std::string how_to_give(const Tensor& tensor) {
  if (tensor.variable || tensor.role == Role::kConstant) return "initialize() gives it one";
  if (tensor.role == Role::kInput) return "put it in the store before the run";
  return "run the ops that make it first, with the same slot";
}

}  // namespace

Interpreter::Interpreter(ReferenceStore& store, std::vector<ReferenceTask> tasks)
    : store_(store), tasks_(std::move(tasks)), own_slots_(tasks_.size()) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    ReferenceTask& task = tasks_[i];
    task.ops.end = std::min(task.ops.end, task.graph->ops().size());
    if (task.slot == nullptr) task.slot = &own_slots_[i];
  }
  enter_task();
  skip_finished_tasks();
}

void Interpreter::enter_task() {
  if (done()) return;
  const ReferenceTask& task = tasks_[task_];
  op_ = task.ops.first;
  task.slot->values.resize(task.graph->tensors().size());
}

void Interpreter::skip_finished_tasks() {
  while (!done() && op_ >= tasks_[task_].ops.end) {
    ++task_;
    enter_task();
  }
}

void Interpreter::advance() {
  while (!done() && !meets_others()) run_op();
}

bool Interpreter::meets_others() const {
  return nadi::meets_others(op());
}

void Interpreter::run_op() {
  const OpView view = waiting_at();
  KernelCall call(view);
  for (std::size_t i = 0; i < view.op.inputs.size(); ++i)
    if (view.has(i)) call.set_input(i, read(view.op.inputs[i]));
  kernel(view.op.kind)(call);
  complete(call.take_outputs());
}

Doubles Interpreter::flat_inputs() const {
  Doubles flat;
  for (std::size_t i = 0; i < op().inputs.size(); ++i)
    flat.insert(flat.end(), input(i).begin(), input(i).end());
  return flat;
}

void Interpreter::complete(std::vector<Doubles> outputs) {
  const Op& finished = op();
  check(outputs.size() == finished.outputs.size(), "a kernel made another number of outputs than its op");
  for (std::size_t i = 0; i < outputs.size(); ++i) write(finished.outputs[i], std::move(outputs[i]));
  ++op_;
  skip_finished_tasks();
}

const Doubles& Interpreter::read(TensorId id) const {
  const ReferenceTask& task = tasks_[task_];
  const Tensor& tensor = task.graph->tensor(id);
  const Doubles* values = nullptr;
  if (tensor.producer != kNoOp)
    values = (*task.slot)[id].empty() ? nullptr : &(*task.slot)[id];
  else if (tensor.role == Role::kInput && task.inputs != nullptr && task.inputs->contains(tensor.name))
    values = task.inputs->find(tensor.name);
  else
    values = store_.find(tensor.name);
  if (values == nullptr)
    throw input_error({}, format("{} '{}' has no value", what_is(tensor), tensor.name), how_to_give(tensor));
  if (static_cast<std::int64_t>(values->size()) != tensor.shape.elements())
    throw input_error({},
                      format("{} '{}' has {} elements, its shape {} takes {}", what_is(tensor), tensor.name,
                             values->size(), tensor.shape.to_string(), tensor.shape.elements()));
  if (tensor.role == Role::kInput && !is_floating(tensor.dtype)) check_integers(tensor, *values);
  return *values;
}

void Interpreter::write(const OpOutput& target, Doubles values) {
  const ReferenceTask& task = tasks_[task_];
  const Tensor& tensor = task.graph->tensor(target.tensor);
  check(static_cast<std::int64_t>(values.size()) == tensor.shape.elements(),
        "a kernel made an output of another size than its tensor");
  if (target.accumulate) {
    const Doubles& before = read(target.tensor);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = before[i] + values[i];
  }
  if (tensor.variable)
    store_.set(tensor.name, std::move(values));
  else
    task.slot->values[index(target.tensor)] = std::move(values);
}

}  // namespace nadi::inline engines
