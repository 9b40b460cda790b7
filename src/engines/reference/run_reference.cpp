#include "nadi/reference/run_reference.h"

#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/random.h"
#include "nadi/reference/interpreter.h"

namespace nadi::inline engines {
namespace {

class Initialization {
 public:
  Initialization(const Graph& graph, ReferenceStore& store, std::uint64_t seed, const PlaceInGroup& place)
      : graph_(graph), store_(store), seed_(seed), place_(place) {}

  const Doubles& value_of(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    if (!store_.contains(tensor.name)) store_.set(tensor.name, first_value(tensor));
    return store_.get(tensor.name);
  }

 private:
  // Index of each element in the whole tensor.
  std::vector<std::int64_t> indices(const Tensor& tensor) const {
    check(tensor.shards.empty() || place_ != nullptr,
          "a tensor that is part of a whole needs the rank's place");
    return whole_indices(tensor.shape, tensor.shards, place_);
  }

  Doubles first_value(const Tensor& tensor) {
    const Initializer& initializer = tensor.initializer;
    switch (initializer.kind) {
      case Initializer::Kind::kConstant:
        return Doubles(tensor.shape.elements(), initializer.value);
      case Initializer::Kind::kIota: {
        const std::vector<std::int64_t> all = indices(tensor);
        return Doubles(all.begin(), all.end());
      }
      case Initializer::Kind::kNormal: {
        const RandomKey key{.seed = seed_, .step = 0, .site = site_of(tensor.name)};
        Doubles values;
        for (const std::int64_t i : indices(tensor))
          values.push_back(initializer.value * random_normal(key, i));
        return values;
      }
      case Initializer::Kind::kZigzag: {
        const std::int64_t parts = static_cast<std::int64_t>(initializer.value);
        const std::int64_t tokens = tensor.shape[0];
        Doubles values;
        for (std::int64_t part = 0; part < parts; ++part)
          for (const std::int64_t position :
               whole_indices(Shape{tokens / parts}, std::vector{zigzag_shard("", parts, 0, tokens)},
                             [&](auto&) { return part; }))
            values.push_back(static_cast<double>(position));
        return values;
      }
      case Initializer::Kind::kCopy:
        return value_of(initializer.source);
      case Initializer::Kind::kFlat: {
        Doubles whole;
        for (const TensorId source : initializer.sources) {
          const Doubles& values = value_of(source);
          whole.insert(whole.end(), values.begin(), values.end());
        }
        whole.resize(whole_shape(tensor.shape, tensor.shards).elements(), 0.0);
        Doubles values;
        for (const std::int64_t i : indices(tensor)) values.push_back(whole[i]);
        return values;
      }
    }
    unreachable();
  }

  const Graph& graph_;
  ReferenceStore& store_;
  std::uint64_t seed_;
  const PlaceInGroup& place_;
};

}  // namespace

void initialize(const Graph& graph, ReferenceStore& store, std::uint64_t seed, const PlaceInGroup& place) {
  Initialization initialization(graph, store, seed, place);
  for (std::size_t i = 0; i < graph.tensors().size(); ++i) {
    const Tensor& tensor = graph.tensors()[i];
    if (tensor.variable || tensor.role == Role::kConstant)
      initialization.value_of(TensorId{static_cast<std::uint32_t>(i)});
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

}  // namespace nadi::inline engines
