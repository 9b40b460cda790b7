// Builds the program of a step: training with its optimizer, evaluation, prefill, decode, or generating a
// number of tokens, on one rank or for a rank of a plan.
//
//   const Program program = build_step(config, {.kind = StepKind::kTrain, .batch_size = 4, .seq_length =
//   512});
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "nadi/graph/gradient.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/forward_options.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/parameter_layout.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"

namespace nadi::inline describe {

enum class StepKind : std::uint8_t {
  kTrain,     // forward, backward, optimizer
  kEvaluate,  // forward with loss
  kPrefill,   // a prompt into the KV cache
  kDecode,    // one token after a prompt
  kGenerate,  // prefill, which makes the first output token, then one decode for each of the others
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
  std::int64_t batch_size = 1;     // sequences per step, of one data-parallel rank
  std::int64_t seq_length = 1;     // training and evaluation: tokens per sequence
  std::int64_t input_tokens = 1;   // prefill, decode, generate: length of the prompt
  std::int64_t output_tokens = 1;  // generate: tokens made, the first of them by the prefill
  DType dtype = DType::kF32;
  bool fp8 = false;
  bool fused_attention = true;
  ExpertOptions experts = {};  // of models that have them
  bool sampling = false;       // prefill, decode, generate: draw tokens instead of taking the likeliest
  // And only tokens below this one: a tokenizer may have fewer than the model has room for. 0 means any.
  std::int64_t token_limit = 0;
  Recompute recompute = {};
  OptimizerOptions optimizer = {};
  // Training: gradients are added up in variables even for one micro-batch, so that programs with other
  // numbers of micro-batches have the same variables.
  bool keeps_gradients = false;
  // Training and evaluation: the logits of all tokens are in a variable "logits" of the last stage, whole ones
  // on every rank; of several micro-batches, those of the last. Where tokens of a sequence are split over
  // ranks, they stand one rank's after the other's.
  bool keeps_logits = false;
  LayoutRules layout = {};  // training: how parameters, gradients and optimizer state lie in buckets
};

// The program of a stage of a plan, the same for all its ranks: what tells those apart is in the values of
// constants, through their shards, and in who is in their groups. In the request, batch_size counts the
// sequences of one data-parallel rank, which the plan divides into micro-batches. Without a plan: on one
// rank, the whole batch at once. Throws Error (usage) with the numbers when the request does not fit the
// model or the plan does not fit either: a sequence longer than the model's positions, heads that do not
// divide, generating with a model that cannot.
Program build_step(const ModelConfig& config, const StepRequest& request, const Plan& plan = {},
                   std::int64_t stage = 0);

// Transformer layers of each stage (each virtual stage, in the model's order): the plan's, or as even as can
// be, longer ones first.
std::vector<std::int64_t> resolved_partition(const ModelConfig& config, const Plan& plan);

}  // namespace nadi::inline describe
