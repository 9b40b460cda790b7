// Several variables that lie one after the other, as one: what a kernel is given that computes the same op on
// all of them (neighbouring_ops() in kernel_plan.h).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "nadi/engine/kernel_plan.h"
#include "nadi/engine/operand_layout.h"

namespace nadi::inline engines {

class JoinedVariables {
 public:
  // `inputs` and `outputs` are the operands of the first of these ops; they become those of all. An input
  // that all of the ops read stays. Operands refer to this from then on.
  template <class Prepared>
  void join(const Graph& graph, const OpRun& ops, std::vector<Prepared>& inputs,
            std::vector<Prepared>& outputs) {
    const std::int64_t elements = elements_of(graph, ops);
    const Op& first = graph.ops()[ops.first];
    const Op& last = graph.ops()[ops.end - 1];
    for (std::size_t i = 0; i < first.inputs.size(); ++i)
      if (first.inputs[i] != last.inputs[i]) widen(inputs[i], elements);
    for (Prepared& output : outputs) widen(output, elements);
  }

 private:
  static std::int64_t elements_of(const Graph& graph, const OpRun& ops);
  void widen(OperandLayout& operand, std::int64_t elements);

  std::deque<Tensor> tensors_;
};

}  // namespace nadi::inline engines
