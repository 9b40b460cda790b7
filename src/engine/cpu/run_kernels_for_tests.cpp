#include "nadi/engine/cpu/run_kernels_for_tests.h"

#include <cstring>

#include "nadi/base/error.h"
#include "nadi/engine/cpu/prepared_graph.h"

namespace nadi::cpu {
namespace {

template <class Element>
void set_elements(const Doubles& values, std::byte* target) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<Element>(values[i]);
    std::memcpy(target + i * sizeof value, &value, sizeof value);
  }
}

void set_tensor(const Tensor& tensor, const Doubles& values, std::byte* target) {
  if (tensor.dtype == DType::kF32)
    set_elements<float>(values, target);
  else if (tensor.dtype == DType::kI32)
    set_elements<std::int32_t>(values, target);
  else if (tensor.dtype == DType::kI64)
    set_elements<std::int64_t>(values, target);
  else
    check(false, "a test gives values of a type that run_kernels() does not convert to");
}

}  // namespace

std::vector<std::vector<std::byte>> run_kernels(const Problem& problem, int threads) {
  const Graph& graph = problem.builder.graph();
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> addresses;
  for (const Tensor& tensor : graph.tensors()) {
    std::vector<std::byte>& bytes = memory.emplace_back(static_cast<std::size_t>(tensor.size().count()));
    if (const Doubles* values = problem.store.find(tensor.name)) set_tensor(tensor, *values, bytes.data());
    addresses.push_back(bytes.data());
  }
  const PreparedGraph prepared(graph, {.threads = threads});
  std::vector<std::byte> workspace(static_cast<std::size_t>(prepared.workspace()));
  KernelRunner runner(prepared, threads, workspace);
  for (std::size_t k = 0; k < prepared.kernels().size(); ++k) runner.run(k, addresses);

  std::vector<std::vector<std::byte>> outputs;
  for (const TensorId id : problem.outputs()) outputs.push_back(memory[index(id)]);
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

}  // namespace nadi::cpu
