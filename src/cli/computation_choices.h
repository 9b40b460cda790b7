// How a step is computed: what --dtype, --optimizer, --attention, --recompute and --threads take,
// for the commands that have these flags.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/command_line/flags.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/gradient.h"
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

// --attention, and the choice of it that means one op.
FlagSpec attention_flag();
inline constexpr std::size_t kFusedAttention = 0;
std::string_view attention_name(bool fused);

// --recompute, --recompute-method and --recompute-num-layers.
std::vector<FlagSpec> recompute_flags();
// Error (usage) for the latter two without --recompute full.
Recompute resolve_recompute(const Flags& flags);

// --threads; failing that a rank's share of its host's cores, as the launcher has it or as many ranks as
// mpirun or srun put there leave; 0: one per core.
int resolve_threads(const Flags& flags);

}  // namespace nadi
