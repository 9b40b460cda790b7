// Megatron's throughput: its own count of the FLOPs of a step, whatever is really computed.
#pragma once

#include <cstdint>

#include "nadi/model/model_config.h"

namespace nadi::inline files {

// TFLOP/s of a step of `samples` sequences, on all ranks together.
double megatron_tflops(const ModelConfig& config, std::int64_t samples, std::int64_t seq_length,
                       double seconds);

}  // namespace nadi::inline files
