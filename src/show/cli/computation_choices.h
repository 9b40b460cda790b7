// How a step is computed: what --dtype, --optimizer, --attention, --recompute and --threads take,
// for the commands that have these flags.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "nadi/command_line/flags.h"
#include "nadi/devices/make_engine.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/compute_dtypes.h"

namespace nadi::inline show {

inline constexpr std::array kOptimizers{OptimizerKind::kAdamW, OptimizerKind::kAdam, OptimizerKind::kSgd,
                                        OptimizerKind::kSgdSai};

std::vector<std::string_view> dtype_names();
std::vector<std::string_view> device_names();  // also of devices that this build does not have
std::string device_help();
// Error (environment) for a device that this build or this machine does not have.
DeviceKind resolve_device(const Flags& flags);
// --tf32 and --deterministic.
std::vector<FlagSpec> math_flags();
// Error (usage) for --tf32 on a device that has no such products.
MathOptions resolve_math(const Flags& flags, DeviceKind device);
std::vector<std::string_view> optimizer_names();

// --attention, and the choice of it that means one op.
FlagSpec attention_flag();
inline constexpr std::size_t kFusedAttention = 0;

// --recompute, --recompute-method and --recompute-num-layers.
std::vector<FlagSpec> recompute_flags();
// Error (usage) for the latter two without --recompute full.
Recompute resolve_recompute(const Flags& flags);

// --threads, else the rank's share of the cores of its host (job/rank_threads.h).
int resolve_threads(const Flags& flags);

}  // namespace nadi::inline show
