#include "nadi/cuda/ops_one_by_one.h"

#include <map>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/round_up.h"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/kernels.h"
#include "nadi/engine/operand_layout.h"

namespace nadi::inline engines::cuda {

void run_one_by_one(const KernelCall& call) {
  // The ops' own workspace comes first, then what they hand over.
  std::map<TensorId, std::byte*> handed_over;
  std::byte* place = call.workspace.data() + kProductWorkspace;
  for (const OpCall& op : call.ops)
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i].tensor == nullptr || op.outputs[i].data != nullptr) continue;
      handed_over[op.op.op.outputs[i].tensor] = place;
      place += rounded_up(op.outputs[i].elements() * size_of(op.outputs[i].dtype()), kDeviceAlignment);
    }
  check(place <= call.workspace.data() + call.workspace.size(), "fused ops have too little workspace");

  for (const OpCall& op : call.ops) {
    std::vector<Operand> inputs(op.inputs.begin(), op.inputs.end());
    std::vector<Operand> outputs(op.outputs.begin(), op.outputs.end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].tensor == nullptr || inputs[i].data != nullptr) continue;
      const OperandLayout layout = operand_layout(op.op.graph, op.op.op.inputs[i]);
      inputs[i].data = handed_over.at(layout.root) + layout.byte_offset;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (const auto found = handed_over.find(op.op.op.outputs[i].tensor); found != handed_over.end())
        outputs[i].data = found->second;
    const OpCall own{.op = op.op, .inputs = inputs, .outputs = outputs};
    const Kernel kernel = kernel_of(op.op.op.kind);
    check(kernel != nullptr, "a fused op has no kernel of its own");
    kernel({.ops = {&own, 1},
            .workspace = call.workspace.first(kProductWorkspace),
            .device = call.device,
            .stream = call.stream});
  }
}

}  // namespace nadi::inline engines::cuda
