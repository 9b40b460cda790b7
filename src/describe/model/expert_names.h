// Parameters of experts: a graph has one for all experts of a layer, [experts, ...], and files have one for each. The
// name in the graph has "*" where files have the expert's number:
//
//   "model.layers.3.mlp.experts.*.up_proj.weight"   [128, 768, 2048]
//   name_of_expert(that, 5)                          "model.layers.3.mlp.experts.5.up_proj.weight"   [768, 2048]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nadi/graph/shape.h"

namespace nadi::inline describe {

inline constexpr std::string_view kEveryExpert = "*";

// Also of what belongs to such a parameter: its gradient, its optimizer state.
inline bool is_of_every_expert(std::string_view name) {
  return name.find(kEveryExpert) != std::string_view::npos;
}

inline std::string name_of_expert(std::string_view name, std::int64_t expert) {
  std::string result(name);
  return result.replace(result.find(kEveryExpert), kEveryExpert.size(), std::to_string(expert));
}

inline Shape shape_of_expert(const Shape& shape) {
  return shape.slice(1, shape.rank());
}

}  // namespace nadi::inline describe
