#include "nadi/megatron_log/megatron_tflops.h"

namespace nadi::inline files {

// 12 B s L h^2 (1 + groups/heads + s/(2h) + ffn/h (3/2 with SwiGLU) + V/(2 L h)): forward once and backward
// twice, two operations per multiplication; attention is causal, as since Megatron 0.12.
double megatron_tflops(const ModelConfig& config, std::int64_t samples, std::int64_t seq_length,
                       double seconds) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double layers = real(config.layers), width = real(config.width), tokens = real(seq_length);
  const double gated = config.architecture->gated() ? 1.5 : 1;
  const double parts = 1 + real(config.kv_heads) / real(config.heads) + tokens / (2 * width) +
                       real(config.ffn_width) / width * gated +
                       real(config.vocabulary) / (2 * layers * width);
  return 12 * real(samples) * tokens * layers * width * width * parts / (seconds * 1e12);
}

}  // namespace nadi::inline files
