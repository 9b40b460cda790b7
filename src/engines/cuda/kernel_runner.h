// Runs the kernels of a prepared graph on a GPU, each by enqueueing its work on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "nadi/cuda/kernel.h"
#include "nadi/cuda/prepared_graph.h"

namespace nadi::inline engines::cuda {

class KernelRunner {
 public:
  // All must outlive this. `workspace` is memory of the device.
  KernelRunner(const PreparedGraph& prepared, Device& device, std::span<std::byte> workspace);

  // Runs a kernel that does not communicate.
  void run(std::size_t kernel, std::span<std::byte* const> addresses, cudaStream_t stream);

  // The operands of a kernel as they are now; valid until the next call of either. Contiguous copies are not
  // made.
  std::span<const OpCall> bind(std::size_t kernel, std::span<std::byte* const> addresses);

 private:
  Operand bind(const PreparedOperand& operand, std::span<std::byte* const> addresses) const;

  const PreparedGraph& prepared_;
  Device& device_;
  std::span<std::byte> workspace_;
  std::vector<OpCall> ops_;
  std::vector<Operand> operands_;  // of all ops, inputs before outputs
};

}  // namespace nadi::inline engines::cuda
