// What --dtype and --optimizer take, for the commands that have these flags.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/graph/dtype.h"
#include "nadi/graph/optimizer.h"

namespace nadi {

// As users write them; the first is the default.
inline constexpr std::array<std::pair<std::string_view, DType>, 3> kDTypes{
    {{"fp32", DType::kF32}, {"bf16", DType::kBF16}, {"fp16", DType::kF16}}};
inline constexpr std::array kOptimizers{OptimizerKind::kAdamW, OptimizerKind::kAdam, OptimizerKind::kSgd,
                                        OptimizerKind::kSgdSai};

std::vector<std::string_view> dtype_names();
std::vector<std::string_view> optimizer_names();
std::string_view name_of(DType dtype);  // of one of kDTypes

}  // namespace nadi
