// A graph made ready for a GPU, without one: which kernels compute it, where their operands are relative to
// the tensors they live in, and what workspace they need. kernel_runner.h runs them.
//
//   const PreparedGraph prepared(program, 0, {.traits = traits, .connected = false});
//   KernelRunner runner(prepared, device, workspace);      // workspace: prepared.workspace() bytes
//   for (std::size_t k = 0; k < prepared.kernels().size(); ++k) runner.run(k, addresses, stream);
//
// `addresses`, by tensor, say where tensors begin that are no views; nullptr for values that never leave
// their kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "nadi/cuda/device_traits.h"
#include "nadi/cuda/fusing.h"
#include "nadi/cuda/joined_products.h"
#include "nadi/engine/joined_variables.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/engine/operand_layout.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline engines::cuda {

struct PreparedOperand : OperandLayout {
  std::int64_t packed_at = -1;  // in the workspace, where a contiguous copy is made first; -1 means none
  std::vector<std::int64_t> packed_strides = {};  // of the copy
  std::int64_t spare_rows = 0;                    // see Operand
};

// One op of a kernel.
struct PreparedOp {
  const Graph* graph = nullptr;  // the program's, or that of joined products
  std::uint32_t op = 0;          // of that graph
  std::vector<PreparedOperand> inputs = {};
  std::vector<PreparedOperand> outputs = {};
};

struct PreparedKernel {
  std::uint32_t first_op = 0;
  std::uint32_t end_op = 0;
  FusedKind fused = FusedKind::kNone;
  // Without views. Of kUpdates one that stands for all; of joined products what is computed instead.
  std::vector<PreparedOp> ops;
  bool communicates = false;
  std::int64_t kernel_workspace = 0;  // bytes; packed inputs stand behind
  std::int64_t workspace = 0;         // of both
};

struct PrepareOptions {
  DeviceTraits traits = {};
  bool connected = false;  // to other ranks
  bool fuse = true;
  bool pad_rows = true;
};

class PreparedGraph {
 public:
  // The program must outlive this. Throws Error (environment) for an op that the device has no kernel for, or
  // that communicates when there is nobody to communicate with.
  PreparedGraph(const Program& program, std::size_t graph, const PrepareOptions& options);

  const Graph& graph() const { return graph_; }
  std::span<const PreparedKernel> kernels() const { return kernels_; }
  std::int64_t workspace() const { return workspace_; }
  std::int64_t staging() const { return staging_; }  // bytes that a message is packed into, the largest
  // Elements from row to row of tensors whose rows are padded or shared; empty means none.
  const std::vector<std::int64_t>& row_strides() const { return row_strides_; }
  // Bytes of tensors whose rows are padded; empty means none.
  std::vector<std::int64_t> padded_sizes() const;
  const std::vector<SharedRows>& shared_rows() const { return shared_rows_; }
  // By tensor: rows that are kept free behind variables; empty means none.
  const std::vector<std::int64_t>& spare_rows() const { return spare_rows_; }
  std::int64_t bytes_of(TensorId tensor) const;  // from its first to its last, or with its padding

 private:
  void join(const Program& program, std::size_t graph, std::span<const FusedOps> fused);
  PreparedKernel prepare(const FusedOps& ops, const PrepareOptions& options);
  PreparedKernel prepare_joined(const FusedOps& ops, const PrepareOptions& options);
  PreparedOp prepare_op(std::uint32_t op, bool packs, PreparedKernel& kernel);
  void add_input(PreparedOperand input, OpKind kind, PreparedOp& op, PreparedKernel& kernel) const;
  PreparedOperand operand(TensorId tensor) const;
  PreparedOperand joined_operand(const JoinedProducts& joined, TensorId tensor) const;

  const Graph& graph_;
  std::vector<std::int64_t> row_strides_;
  std::vector<std::int64_t> spare_rows_;
  std::vector<PreparedKernel> kernels_;
  std::vector<SharedRows> shared_rows_;
  std::vector<char> shares_rows_;                     // by tensor; empty means none does
  std::map<std::uint32_t, JoinedProducts> products_;  // by the first of the ops that are joined
  JoinedVariables joined_;
  std::int64_t workspace_ = 0;
  std::int64_t staging_ = 0;
};

// The kernels that a GPU takes for a program: what an engine decides, without a device. `connected`: to other
// ranks.
KernelPlan plan_cuda_kernels(const Program& program, const DeviceTraits& traits, bool connected);
// The plan of graphs that are prepared.
KernelPlan kernel_plan_of(std::span<const PreparedGraph* const> graphs);

}  // namespace nadi::inline engines::cuda
