// The flags of `nadi train`: its own, and those of Megatron's scripts (megatron_flags.h).
#pragma once

#include <cstdint>

namespace nadi {

class Flags;

// Defaults that are not TrainOptions' own.
inline constexpr std::int64_t kDefaultTrainSeqLength = 512;
inline constexpr std::int64_t kDefaultLoggingSteps = 10;
inline constexpr std::int64_t kDefaultEvalIterations = 10;
// Megatron's own.
inline constexpr std::uint64_t kMegatronSeed = 1234;
inline constexpr std::int64_t kProfileStart = 10, kProfileEnd = 12;
inline constexpr const char* kDefaultSplit = "969,30,1";

inline constexpr const char* kDefaultCacheDir = "cache";

void add_train_flags(Flags& flags);

}  // namespace nadi
