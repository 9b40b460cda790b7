// Moves what communication packs, within memory of the host (comm/op_transfer.h).
#pragma once

#include "nadi/comm/op_transfer.h"

namespace nadi::inline engines::cpu {

class HostMover : public TransferMover {
 public:
  explicit HostMover(int threads) : threads_(threads) {}

  void copy(const Operand& from, std::byte* to) override;
  void swap(const BlockSwap& blocks) override;
  void clear(std::span<std::byte> bytes) override;

 private:
  int threads_;
};

}  // namespace nadi::inline engines::cpu
