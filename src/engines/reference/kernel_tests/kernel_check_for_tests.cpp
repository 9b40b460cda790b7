#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

#include <gtest/gtest.h>

#include <limits>

#include "nadi/reference/kernel_tests/kernel_device_for_tests.h"
#include "nadi/reference/kernel_tests/tensor_bytes_for_tests.h"

namespace nadi::inline engines {
namespace {

// The least exact of the graph's floating-point types.
DType least_exact(const Graph& graph) {
  DType least = DType::kF32;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.dtype == DType::kBF16) return DType::kBF16;
    if (tensor.dtype == DType::kF16) least = DType::kF16;
  }
  return least;
}

struct Expected {
  TensorBytes given;
  ReferenceStore store;
  ReferenceSlot slot;

  const Doubles& value(const Tensor& tensor, std::size_t t) const {
    return tensor.producer == kNoOp ? store.get(tensor.name) : slot[TensorId{static_cast<std::uint32_t>(t)}];
  }
};

Expected expected_of(const Problem& problem) {
  const Graph& graph = problem.builder.graph();
  Expected expected{.given = {}, .store = problem.store, .slot = {}};
  initialize(graph, expected.store, 1);
  for (const Tensor& tensor : graph.tensors()) {
    std::vector<std::byte>& bytes = expected.given.emplace_back();
    if (tensor.producer != kNoOp) continue;
    bytes = bytes_of(expected.store.get(tensor.name), tensor.dtype);
    expected.store.set(tensor.name, doubles_of(bytes, tensor.dtype));  // rounded
  }
  run_reference(ReferenceTask{.graph = &graph, .slot = &expected.slot}, expected.store);
  return expected;
}

// As normalized_error(), of tensors with as many elements, one of which says what is large.
double error_in_proportion(const Doubles& values, const Doubles& reference, const Doubles& large) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - reference[i]) * (values[i] - reference[i]);
    size += large[i] * large[i];
  }
  return error / size;
}

}  // namespace

double normalized_error(const Doubles& values, const Doubles& reference) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - reference[i]) * (values[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  if (error == 0) return 0;
  return size == 0 ? std::numeric_limits<double>::infinity() : error / size;
}

void expect_same_as_reference(const Problem& problem, const KernelCheckOptions& options) {
  const Graph& graph = problem.builder.graph();
  const Expected expected = expected_of(problem);
  const double limit = options.max_error > 0 ? options.max_error : kernel_tolerance(least_exact(graph));
  for (const KernelRun& run : kernel_runs(graph, options.threads, options.buckets)) {
    const TensorBytes results = run_on_device(graph, expected.given, run);
    for (std::size_t t = 0; t < results.size(); ++t) {
      if (results[t].empty()) continue;
      const Tensor& tensor = graph.tensors()[t];
      const Doubles values = doubles_of(results[t], tensor.dtype);
      double error = normalized_error(values, expected.value(tensor, t));
      if (const auto size = options.sizes.find(tensor.name); size != options.sizes.end())
        error = error_in_proportion(values, expected.value(tensor, t), expected.store.get(size->second));
      if (is_floating(tensor.dtype))
        EXPECT_LE(error, limit) << tensor.name << " " << tensor.shape.to_string() << " "
                                << to_string(tensor.dtype) << ", " << run.to_string();
      else
        EXPECT_EQ(error, 0) << tensor.name << ", " << run.to_string();
    }
  }
}

}  // namespace nadi::inline engines
