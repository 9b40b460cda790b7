// A graph made ready for the CPU: for every op its kernel, where in memory its operands are relative to the
// tensors they live in, and what workspace it needs. Made once, so that running an op computes nothing but
// the op.
//
//   PreparedGraph prepared(graph, threads);
//   OpRunner runner(prepared, threads, workspace);     // workspace: prepared.workspace() bytes
//   for (std::size_t i = 0; i < graph.ops().size(); ++i) runner.run(i, addresses);
//
// `addresses`, by tensor, say where tensors begin that are no views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/engine/cpu/kernel.h"

namespace nadi {
struct ExecutedStep;
}

namespace nadi::cpu {

class CommOps;

struct PreparedOperand {
  TensorId root = kNoTensor;  // kNoTensor where an optional input is absent
  const Tensor* tensor = nullptr;
  std::int64_t byte_offset = 0;
  std::vector<std::int64_t> strides = {};
  std::int64_t packed_at = -1;  // in the workspace, where a contiguous copy is made first; -1: none
};

struct PreparedOp {
  const KernelEntry* entry = nullptr;  // nullptr for views, and where other ranks take part
  bool communicates = false;
  std::vector<PreparedOperand> inputs;
  std::vector<PreparedOperand> outputs;
  std::int64_t kernel_workspace = 0;  // bytes; packed inputs stand behind
  std::int64_t workspace = 0;         // of both
};

class PreparedGraph {
 public:
  // The graph must outlive this. Throws Error (environment) for an op that the CPU has no kernel for, or that
  // communicates when there is nobody to communicate with.
  PreparedGraph(const Graph& graph, int threads, bool connected = false);

  const Graph& graph() const { return graph_; }
  const PreparedOp& op(std::size_t i) const { return ops_[i]; }
  bool is_view(std::size_t i) const { return ops_[i].entry == nullptr && !ops_[i].communicates; }
  std::int64_t workspace() const { return workspace_; }
  std::int64_t staging() const { return staging_; }  // bytes, for CommOps
  std::size_t most_operands() const { return most_operands_; }

 private:
  const Graph& graph_;
  std::vector<PreparedOp> ops_;
  std::int64_t workspace_ = 0;
  std::int64_t staging_ = 0;
  std::size_t most_operands_ = 0;
};

class OpRunner {
 public:
  // `comm`: where the graph communicates.
  OpRunner(const PreparedGraph& prepared, int threads, std::span<std::byte> workspace,
           CommOps* comm = nullptr);

  // Not for views. Allocates nothing. Ops that communicate are only started; `record`, if there is one, has
  // the op's entry.
  void run(std::size_t op, std::span<std::byte* const> addresses, ExecutedStep* record = nullptr);

  // Waits until nobody else uses the memory of the op's operands.
  void settle(std::size_t op, std::span<std::byte* const> addresses);

 private:
  Operand bind(const PreparedOperand& operand, std::span<std::byte* const> addresses) const;

  const PreparedGraph& prepared_;
  int threads_;
  std::span<std::byte> workspace_;
  CommOps* comm_;
  std::vector<Operand> inputs_;
  std::vector<Operand> outputs_;
};

}  // namespace nadi::cpu
