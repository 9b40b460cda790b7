#include "nadi/reference/problem_for_tests.h"

#include "nadi/base/random.h"
#include "nadi/graph/ops/dropout.h"

namespace nadi::inline engines {

Doubles normal_values(const std::string& name, std::int64_t count, std::uint64_t stream) {
  const RandomKey key{.seed = stream, .site = site_of(name)};
  Doubles values(count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_normal(key, i);
  return values;
}

TensorId Problem::parameter(const std::string& name, const Shape& shape, DType dtype) {
  store.set(name, normal_values(name, shape.elements(), static_cast<std::uint64_t>(rank_)));
  return builder.parameter(name, shape, dtype, Initializer::constant(0));
}

TensorId Problem::shared_parameter(const std::string& name, const Shape& shape) {
  const TensorId id = parameter(name, shape);
  store.set(name, normal_values(name, shape.elements()));
  shared_.insert(id);
  return id;
}

TensorId Problem::input(const std::string& name, const Shape& shape, Doubles values) {
  store.set(name, std::move(values));
  return builder.input(name, shape, DType::kF32);
}

TensorId Problem::normal_input(const std::string& name, const Shape& shape) {
  return input(name, shape, normal_values(name, shape.elements(), static_cast<std::uint64_t>(rank_)));
}

TensorId Problem::integers(const std::string& name, const Shape& shape, Doubles values) {
  store.set(name, std::move(values));
  return builder.input(name, shape, DType::kI32);
}

TensorId Problem::random(double first_sample) {
  store.set("random", {7, 3, first_sample});
  return random_input(builder);
}

std::vector<Doubles> Problem::run() {
  initialize(builder.graph(), store, 1);
  ReferenceSlot slot;
  run_reference({.graph = &builder.graph(), .slot = &slot}, store);
  std::vector<Doubles> values;
  for (const TensorId id : outputs_) values.push_back(value(slot, id));
  return values;
}

const Doubles& Problem::value(const ReferenceSlot& slot, TensorId id) const {
  const Tensor& tensor = builder.tensor(id);
  return tensor.producer == kNoOp ? store.get(tensor.name) : slot[id];
}

}  // namespace nadi::inline engines
