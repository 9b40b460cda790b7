#include "nadi/graph/graph.h"

#include "nadi/base/error.h"

namespace nadi::inline describe {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kParameter:
      return "parameter";
    case Role::kGradient:
      return "gradient";
    case Role::kOptimizerState:
      return "optimizer_state";
    case Role::kActivation:
      return "activation";
    case Role::kInput:
      return "input";
    case Role::kConstant:
      return "constant";
    case Role::kCache:
      return "cache";
    case Role::kMetric:
      return "metric";
    case Role::kCounter:
      return "counter";
  }
  unreachable();
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kRecompute:
      return "recompute";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
  }
  unreachable();
}

std::optional<TensorId> Graph::find_tensor(std::string_view name) const {
  const auto found = tensor_by_name_.find(std::string(name));
  if (found == tensor_by_name_.end()) return std::nullopt;
  return found->second;
}

std::vector<TensorId> Graph::tensors_with(Role role) const {
  std::vector<TensorId> found;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].role == role) found.push_back(TensorId{static_cast<std::uint32_t>(i)});
  return found;
}

std::int64_t Graph::parameter_count() const {
  std::int64_t count = 0;
  for (const Tensor& tensor : tensors_)
    if (tensor.role == Role::kParameter) count += tensor.shape.elements();
  return count;
}

}  // namespace nadi::inline describe
