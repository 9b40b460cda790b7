// A graph made ready for the CPU: its kernels, where in memory their operands are relative to the tensors
// they live in, and what workspace they need. Made once, so that running a kernel computes nothing but the
// op.
//
//   PreparedGraph prepared(graph, {.threads = threads});
//   KernelRunner runner(prepared, threads, workspace);     // workspace: prepared.workspace() bytes
//   for (std::size_t k = 0; k < prepared.kernels().size(); ++k) runner.run(k, addresses);
//
// `addresses`, by tensor, say where tensors begin that are no views.
//
// A kernel computes one op; or, where several ops are the same but for variables that lie one after the other
// (`fused`: see neighbouring_ops() in kernel_plan.h), all of them in one call, as if these variables were
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/cpu/kernel.h"
#include "nadi/engine/joined_variables.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/engine/operand_layout.h"

namespace nadi::inline traces {
struct ExecutedStep;
}  // namespace nadi::inline traces

namespace nadi::inline engines {

class OpTransfers;
}  // namespace nadi::inline engines

namespace nadi::inline engines::cpu {

struct PreparedOperand : OperandLayout {
  std::int64_t packed_at = -1;  // in the workspace, where a contiguous copy is made first; -1 means none
};

struct PreparedKernel {
  std::uint32_t first_op = 0;
  std::uint32_t end_op = 0;
  const KernelEntry* entry = nullptr;  // nullptr where other ranks take part
  std::vector<PreparedOperand> inputs;
  std::vector<PreparedOperand> outputs;
  std::int64_t kernel_workspace = 0;  // bytes; packed inputs stand behind
  std::int64_t workspace = 0;         // of both

  bool communicates() const { return entry == nullptr; }
};

struct PrepareOptions {
  int threads = 1;
  bool connected = false;             // to other ranks
  std::span<const OpRun> fused = {};  // ops that one call computes
};

class PreparedGraph {
 public:
  // The graph must outlive this. Throws Error (environment) for an op that the CPU has no kernel for, or that
  // communicates when there is nobody to communicate with.
  PreparedGraph(const Graph& graph, const PrepareOptions& options);

  const Graph& graph() const { return graph_; }
  std::span<const PreparedKernel> kernels() const { return kernels_; }
  std::int64_t workspace() const { return workspace_; }
  std::int64_t staging() const { return staging_; }  // bytes, for OpTransfers
  std::size_t most_operands() const { return most_operands_; }

 private:
  PreparedKernel prepare(const Op& op, const PrepareOptions& options);

  const Graph& graph_;
  std::vector<PreparedKernel> kernels_;
  JoinedVariables joined_;
  std::int64_t workspace_ = 0;
  std::int64_t staging_ = 0;
  std::size_t most_operands_ = 0;
};

class KernelRunner {
 public:
  // `comm`: where the graph communicates.
  KernelRunner(const PreparedGraph& prepared, int threads, std::span<std::byte> workspace,
               OpTransfers* comm = nullptr);

  // Allocates nothing. Kernels that communicate are only started; `record`, if there is one, has the
  // kernel's entry.
  void run(std::size_t kernel, std::span<std::byte* const> addresses, ExecutedStep* record = nullptr);

  // Waits until nobody else uses the memory of the kernel's operands.
  void settle(std::size_t kernel, std::span<std::byte* const> addresses);

 private:
  Operand bind(const PreparedOperand& operand, std::span<std::byte* const> addresses) const;

  const PreparedGraph& prepared_;
  int threads_;
  std::span<std::byte> workspace_;
  OpTransfers* comm_;
  std::vector<Operand> inputs_;
  std::vector<Operand> outputs_;
};

}  // namespace nadi::inline engines::cpu
