// Moves what communication packs, within memory of the GPU (comm/op_transfer.h), on the compute stream.
#pragma once

#include <cuda_runtime_api.h>

#include "nadi/comm/op_transfer.h"

namespace nadi::inline engines::cuda {

class DeviceMover : public TransferMover {
 public:
  // What the compute stream is from now on.
  void compute_on(cudaStream_t stream) { compute_ = stream; }

  void copy(const Operand& from, std::byte* to) override;
  void swap(const BlockSwap& blocks) override;
  void clear(std::span<std::byte> bytes) override;

 private:
  cudaStream_t compute_ = nullptr;
};

}  // namespace nadi::inline engines::cuda
