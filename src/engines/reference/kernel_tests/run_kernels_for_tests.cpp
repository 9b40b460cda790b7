#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

#include <cstring>

#include "nadi/base/error.h"
#include "nadi/reference/kernel_tests/kernel_device_for_tests.h"
#include "nadi/reference/kernel_tests/tensor_bytes_for_tests.h"

namespace nadi::inline engines {

std::vector<std::vector<std::byte>> run_kernels(const Problem& problem, int threads) {
  const Graph& graph = problem.builder.graph();
  TensorBytes given;
  for (const Tensor& tensor : graph.tensors()) {
    std::vector<std::byte>& bytes = given.emplace_back();
    if (tensor.producer != kNoOp) continue;
    const Doubles* values = problem.store.find(tensor.name);
    bytes = bytes_of(values != nullptr ? *values : Doubles(tensor.shape.elements(), 0.0), tensor.dtype);
  }
  const TensorBytes results = run_on_device(graph, given, {.threads = threads});
  std::vector<std::vector<std::byte>> outputs;
  for (const TensorId id : problem.outputs()) outputs.push_back(results[index(id)]);
  return outputs;
}

std::vector<float> run_kernels_for_floats(const Problem& problem, int threads) {
  const std::vector<std::byte> bytes = run_kernels(problem, threads).at(0);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string error_of_kernels(const Problem& problem, int threads) {
  try {
    run_kernels(problem, threads);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace nadi::inline engines
