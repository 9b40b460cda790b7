#include "nadi/engine/reference/reference_engine.h"

#include <numeric>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/random.h"
#include "nadi/engine/reference/interpreter.h"

namespace nadi {
namespace {

Doubles normals(const Tensor& tensor, std::uint64_t seed) {
  const RandomKey key{.seed = seed, .step = 0, .site = site_of(tensor.name)};
  Doubles values(tensor.shape.elements());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.initializer.value * random_normal(key, i);
  return values;
}

const Doubles& initialized(const Graph& graph, TensorId id, ReferenceStore& store, std::uint64_t seed);

Doubles first_value(const Graph& graph, const Tensor& tensor, ReferenceStore& store, std::uint64_t seed) {
  const Initializer& initializer = tensor.initializer;
  switch (initializer.kind) {
    case Initializer::Kind::kConstant:
      return Doubles(tensor.shape.elements(), initializer.value);
    case Initializer::Kind::kIota: {
      Doubles values(tensor.shape.elements());
      std::iota(values.begin(), values.end(), 0.0);
      return values;
    }
    case Initializer::Kind::kNormal:
      return normals(tensor, seed);
    case Initializer::Kind::kCopy:
      return initialized(graph, initializer.source, store, seed);
  }
  unreachable();
}

const Doubles& initialized(const Graph& graph, TensorId id, ReferenceStore& store, std::uint64_t seed) {
  const Tensor& tensor = graph.tensor(id);
  if (!store.contains(tensor.name)) store.set(tensor.name, first_value(graph, tensor, store, seed));
  return store.get(tensor.name);
}

}  // namespace

void initialize(const Graph& graph, ReferenceStore& store, std::uint64_t seed) {
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const Tensor& tensor = graph.tensors()[i];
    if (tensor.variable || tensor.role == Role::kConstant)
      initialized(graph, TensorId{static_cast<std::uint32_t>(i)}, store, seed);
  }
}

void run_reference(const ReferenceTask& task, ReferenceStore& store) {
  Interpreter interpreter(store, {task});
  interpreter.advance();
  if (interpreter.done()) return;
  const Op& op = interpreter.waiting_at().op;
  throw input_error({}, format("op '{}' ({}) communicates with other ranks", op.name, to_string(op.kind)),
                    "run_lockstep() runs all ranks in one process");
}

void run_reference(const Graph& graph, ReferenceStore& store) {
  run_reference(ReferenceTask{.graph = &graph}, store);
}

}  // namespace nadi
