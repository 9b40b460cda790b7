// A step of a model as it is asked for, and as it is once every default is decided.
//
//   const ResolvedStep step = resolve_step({.model = "gpt2-xl", .plan = {.dp = 4, .pp = 8}, .global_batch_size = 64,
//                                           .micro_batch_size = 1});
//   step.config, step.request, step.plan                                  // what build_step() takes
//
// An empty field leaves the choice to resolve_step(). Defaults that depend on nothing are those of the structs
// here; the others are said beside the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline ask {

// The type of parameters and activations of a step that names none. One rule for every question:
// - fp16 on GPUs, and where nothing says what computes: LLMs are trained in 16 bits, every GPU has fp16 (T4 and V100 have
//   no bf16), and it takes the memory and time of bf16 wherever there are both;
// - fp32 where a CPU computes, or another device that is not faster in fp16.
inline constexpr DType kDefaultDtype = DType::kF16;
inline constexpr DType kDefaultDtypeOfCpus = DType::kF32;
// What the rule says in one line, for help.
inline constexpr const char* kDefaultDtypeRule = "fp16, which every GPU has; fp32 where CPUs compute";
// Of a step on the first `devices` devices of a cluster.
DType default_dtype(const Cluster& cluster, std::int64_t devices);

// Tokens where the question names none: so many, or as many as fit the model's positions.
inline constexpr std::int64_t kMostDefaultSeqLength = 2048;
inline constexpr std::int64_t kMostDefaultInputTokens = 128;
inline constexpr std::int64_t kMostDefaultOutputTokens = 32;

// "fused", "unfused".
std::string_view attention_name(bool fused);

struct StepQuestion {
  std::string model = {};       // a built-in name, a config.json, or a checkpoint folder
  std::string model_type = {};  // of a configuration that does not say it
  StepKind kind = StepKind::kTrain;
  // How it is split. micro_batches follows from the batch.
  Plan plan = {};

  // Sequences per step on each data-parallel rank; or of training on all ranks together. Neither: 1 per rank.
  std::optional<std::int64_t> batch_size = {}, global_batch_size = {};
  std::optional<std::int64_t> micro_batch_size = {};  // training; else the whole batch at once
  // Training and evaluation; else the model's positions, at most kMostDefaultSeqLength.
  std::optional<std::int64_t> seq_length = {};
  // Of steps that generate; else kMostDefaultInputTokens and kMostDefaultOutputTokens, if they fit.
  std::optional<std::int64_t> input_tokens = {}, output_tokens = {};

  std::optional<DType> dtype = {};  // else default_dtype()
  bool fp8 = false;
  std::optional<bool> fused_attention = {};  // else fused; a prediction asks framework and cluster first
  ExpertOptions experts = {};                // of models that have them
  Recompute recompute = {};
  OptimizerOptions optimizer = {};
  std::optional<double> dropout = {};  // all rates of the model; else the model's own
};

struct ResolvedStep {
  StepQuestion question;  // as it was asked
  ModelConfig config;
  StepRequest request;
  Plan plan;
  std::vector<std::string> notes = {};  // what its user may not expect: stages without a layer
};

// Error (usage) for fields that contradict each other or make no sense with the kind of step, and what
// load_model_config() throws. Whether the plan fits the model is for build_step() to say.
ResolvedStep resolve_step(const StepQuestion& question);

// The same of a training step whose split is not decided: `question.plan`, batch_size and micro_batch_size are of no
// account, the batch of the result is that of all ranks. Error (usage) without global_batch_size.
ResolvedStep resolve_unsplit_step(const StepQuestion& question);

// Error (usage) for degrees that no plan of any model has: more than 2^30 ranks, or 100,000 stages.
void check_degrees(const Plan& plan);

// "gpt2 has 12 layers: 4 of the 16 stages have none", where an even split leaves stages without a layer; ""
// where each has one, or the partition was asked for.
std::string empty_stages_note(const ModelConfig& config, const Plan& plan);

}  // namespace nadi::inline ask
