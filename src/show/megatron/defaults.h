// Megatron's defaults, where they are not those of Nadi's options.
#pragma once

#include <cstdint>

namespace nadi::inline show {

inline constexpr std::uint64_t kMegatronSeed = 1234;
inline constexpr std::int64_t kMegatronEvalIterations = 10;
inline constexpr std::int64_t kProfileStart = 10, kProfileEnd = 12;
inline constexpr const char* kMegatronSplit = "969,30,1";
inline constexpr double kRopeScalingFactor = 8;
inline constexpr double kMegatronDropout = 0.1;
inline constexpr double kMegatronNormEpsilon = 1e-5;

}  // namespace nadi::inline show
