// The flags of `nadi train`: its own, and those of Megatron's scripts (megatron/).
#pragma once

#include <cstdint>

namespace nadi::inline show {

class Flags;

// Defaults of flags that are not defaults of TrainOptions.
inline constexpr std::int64_t kDefaultTrainSeqLength = 512;
inline constexpr std::int64_t kDefaultLoggingSteps = 10;
inline constexpr const char* kDefaultCacheDir = "cache";
inline constexpr const char* kDefaultCheckpoints = "checkpoints";  // with the model's type behind it

void add_train_flags(Flags& flags);

}  // namespace nadi::inline show
