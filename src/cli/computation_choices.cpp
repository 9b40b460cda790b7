#include "nadi/cli/computation_choices.h"

#include <algorithm>

#include "nadi/base/error.h"

namespace nadi {

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, dtype] : kDTypes) names.push_back(name);
  return names;
}

std::vector<std::string_view> optimizer_names() {
  std::vector<std::string_view> names;
  for (const OptimizerKind kind : kOptimizers) names.push_back(to_string(kind));
  return names;
}

std::string_view name_of(DType dtype) {
  const auto entry = std::ranges::find(kDTypes, dtype, &std::pair<std::string_view, DType>::second);
  check(entry != kDTypes.end(), "a step's type is one of those that --dtype takes");
  return entry->first;
}

}  // namespace nadi
