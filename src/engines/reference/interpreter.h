// Runs the tasks of one rank op by op, and stops where ranks have to meet. What run_reference(),
// run_lockstep() and ReferenceEngine are made of.
#pragma once

#include <vector>

#include "nadi/graph/op_definition.h"
#include "nadi/reference/run_reference.h"

namespace nadi::inline engines {

class Interpreter {
 public:
  // Borrows the store, and the graphs, slots and inputs that the tasks name.
  Interpreter(ReferenceStore& store, std::vector<ReferenceTask> tasks);
  Interpreter(Interpreter&&) = default;
  Interpreter(const Interpreter&) = delete;  // tasks point to slots of this object

  // Runs until the end, or until the next op has to meet other ranks.
  void advance();
  bool done() const { return task_ == tasks_.size(); }

  // Or one op at a time: whether the next one has to meet other ranks, and running it where it has not.
  bool meets_others() const;
  void run_op();

  // The op it stopped at, its inputs, and going on with outputs that were computed outside.
  OpId op_id() const { return OpId{static_cast<std::uint32_t>(op_)}; }
  OpView waiting_at() const { return {*tasks_[task_].graph, op()}; }
  const Doubles& input(std::size_t i) const { return read(op().inputs[i]); }
  Doubles flat_inputs() const;  // all of them, one after the other: a bucket travels as one array
  void complete(std::vector<Doubles> outputs);

 private:
  const Op& op() const { return tasks_[task_].graph->ops()[op_]; }
  void enter_task();
  void skip_finished_tasks();
  const Doubles& read(TensorId id) const;
  void write(const OpOutput& target, Doubles values);

  ReferenceStore& store_;
  std::vector<ReferenceTask> tasks_;
  std::vector<ReferenceSlot> own_slots_;  // by task, for those that were given none
  std::size_t task_ = 0;
  std::size_t op_ = 0;
};

}  // namespace nadi::inline engines
