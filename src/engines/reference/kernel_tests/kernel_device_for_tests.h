// For tests of kernels: the device that they run on. Each test program links one implementation, the CPU's
// (cpu/kernel_device_for_tests.cpp) or the GPU's (cuda/kernel_device_for_tests.cpp), and all of the tests
// beside this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/graph.h"
#include "nadi/parallel/variable_buckets.h"

namespace nadi::inline engines {

// One way of running a graph.
struct KernelRun {
  int threads = 1;  // of a CPU
  // For a GPU:
  bool fused = false;         // as the device fuses ops; otherwise op by op
  bool padded = false;        // rows of logits as the device pads them
  bool misaligned = false;    // inputs and variables begin one element behind a multiple of the alignment
  bool deterministic = true;  // libraries are asked for the same bits again and again
  std::vector<VariableBucket> buckets = {};  // variables that lie one after the other

  std::string to_string() const;
};
// All ways that can make a difference on this device, with these buckets.
std::vector<KernelRun> kernel_runs(const Graph& graph, std::span<const int> threads,
                                   std::span<const VariableBucket> buckets);

// Runs the ops of the graph. `given`, by tensor: the bytes of inputs and variables; others are empty, and
// begin as NaN. The result has, by tensor, the bytes of each after all ops ran; empty for views, and for
// values that only ops of one kernel hand to each other, or write over. Each tensor has memory of its own,
// unless it is in a bucket or shares rows, with guard bytes behind; adds a test failure where a kernel has
// written over them.
using TensorBytes = std::vector<std::vector<std::byte>>;
TensorBytes run_on_device(const Graph& graph, const TensorBytes& given, const KernelRun& run);

// The largest normalised mean square error that this device's kernels may have where the least exact type
// among the tensors is this one.
double kernel_tolerance(DType least_exact);

}  // namespace nadi::inline engines
