// The keys of a plan file: what the reader takes, the writer writes and the schema lists.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nadi::inline predict {

inline constexpr std::int64_t kPlanFileVersion = 1;

inline constexpr std::array<std::string_view, 8> kPlanFileKeys = {
    "$schema", "nadi_plan", "model", "step", "plan", "cluster", "devices", "predicted"};
inline constexpr std::array<std::string_view, 8> kPlanStepKeys = {
    "seq_length", "global_batch_size", "micro_batch_size", "dtype",
    "fp8",        "attention",         "recompute",        "optimizer"};
inline constexpr std::array<std::string_view, 3> kPlanRecomputeKeys = {"granularity", "method", "layers"};
inline constexpr std::array<std::string_view, 9> kPlanKeys = {
    "tp", "cp", "dp", "pp", "sequence_parallel", "zero", "schedule", "virtual_stages", "partition"};
inline constexpr std::array<std::string_view, 7> kPlanPredictedKeys = {
    "step_time", "memory", "cost", "framework", "gradient_reduction_dtype", "collective", "layer_times"};

// Names of both ways to compute attention, as in --attention.
inline constexpr std::array<std::string_view, 2> kPlanAttentions = {"fused", "unfused"};

}  // namespace nadi::inline predict
