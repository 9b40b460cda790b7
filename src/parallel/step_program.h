// Builds the program of a step for one rank: training with its optimizer, evaluation, prefill, decode, or
// generating a number of tokens.
//
//   const Program program = build_step(config, {.kind = StepKind::kTrain, .batch_size = 4, .seq_length =
//   512});
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "nadi/graph/gradient.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/model_config.h"
#include "nadi/model/step_options.h"
#include "nadi/parallel/program.h"

namespace nadi {

enum class StepKind : std::uint8_t {
  kTrain,     // forward, backward, optimizer
  kEvaluate,  // forward with loss
  kPrefill,   // a prompt into the KV cache
  kDecode,    // one token after a prompt
  kGenerate,  // prefill, then one decode per output token
};
struct StepKindEntry {
  StepKind kind;
  std::string_view name;
  std::string_view summary;
};
std::span<const StepKindEntry> step_kinds();
std::string_view to_string(StepKind kind);

struct StepRequest {
  StepKind kind = StepKind::kTrain;
  std::int64_t batch_size = 1;     // sequences per step
  std::int64_t micro_batches = 1;  // training: the batch is worked off in this many equal parts
  std::int64_t seq_length = 1;     // training and evaluation: tokens per sequence
  std::int64_t input_tokens = 1;   // prefill, decode, generate: length of the prompt
  std::int64_t output_tokens = 1;  // generate: tokens made after it
  DType dtype = DType::kF32;
  bool fp8 = false;
  bool fused_attention = true;
  Recompute recompute = {};
  OptimizerOptions optimizer = {};
};

// Throws Error (usage) with the numbers when the request does not fit the model: a sequence longer than the
// model's positions, a batch that does not divide, generating with a model that cannot.
Program build_step(const ModelConfig& config, const StepRequest& request);

}  // namespace nadi
