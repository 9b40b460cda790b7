// The types that a step may compute in, by the names that users write: "fp32", "bf16", "fp16".
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "nadi/graph/dtype.h"

namespace nadi::inline describe {

// The first is the default.
inline constexpr std::array<std::pair<std::string_view, DType>, 3> kDTypes{
    {{"fp32", DType::kF32}, {"bf16", DType::kBF16}, {"fp16", DType::kF16}}};

std::string_view name_of(DType dtype);  // of one of kDTypes

}  // namespace nadi::inline describe
