// Losses that are computed together with their gradient: logits are the largest values of a step, and with
// cross_entropy in the forward pass and cross_entropy_grad in the backward pass they are read twice and
// written once. Where all that the gradient depends on is known when the loss is computed, one kernel does
// both: it has a row of logits in shared memory, and writes its gradient over the row in device memory.
//
//   forward   cross_entropy                  computes all three
//   backward  cross_entropy_grad [sum_rows]  finds them done
//
// That needs a gradient that takes over the bytes of the logits, as the memory plan has it where one
// micro-batch is under way at a time (OpDefinition::in_place_input). Where it does not, or where rows are not
// as the kernel likes them, each of the two kernels does its own ops: both decide by the same operands, when
// they run.
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/cuda/device_traits.h"
#include "nadi/parallel/program.h"

namespace nadi::inline engines::cuda {

// Ops [first, end) of the graph: cross_entropy_grad, and sum_rows of the gradient into a variable if it
// follows within the section.
struct GradientOfLoss {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};
// The gradient of op `loss`, a cross_entropy, if it may be computed with it. Nobody else reads or writes in
// between what that touches.
std::optional<GradientOfLoss> gradient_with_loss(const Program& program, std::size_t graph,
                                                 std::uint32_t loss, const DeviceTraits& traits);

// Room for what is between blocks of that kernel and its sums over rows, in bytes; part of its workspace.
std::int64_t loss_sums_workspace(std::int64_t rows, std::int64_t columns, const DeviceTraits& traits);

// How a block has rows in shared memory: a ring of chunks, of which each of its threads has 16 bytes. A row
// takes some of them. There is room for two, and a little more.
struct LossRing {
  static constexpr int kThreads = 512;
  static constexpr std::int64_t kChunk = kThreads * 16;
  static constexpr int kMostChunks = 28;      // of H100's 227 KB
  static constexpr int kLeastAhead = 2;       // chunks that are fetched while two rows are there
  static constexpr int kSums = 64;            // of a thread's columns over rows, in its registers
  static constexpr std::int64_t kOwn = 2048;  // bytes of barriers and sums of a block

  int chunks_of_row = 0;
  int chunks = 0;  // 0 means rows are too long, or too short to be worth it
  int shared_memory() const { return static_cast<int>(chunks * kChunk); }

  LossRing(std::int64_t row_bytes, bool sums, int element_size, const DeviceTraits& traits);
};

// Blocks, each of which has every so many-th row.
std::int64_t loss_blocks(std::int64_t rows, const DeviceTraits& traits);

}  // namespace nadi::inline engines::cuda
