// The steps that a calibration runs: small versions of models, with the widths of the real ones, few layers
// and several batch sizes, so that the table of measured ops has their shapes and others around them.
//
//   for (const SampleProgram& sample : sample_programs({.models = {gpt2}, .ranks = 2})) run(sample);
//
// Ops cost the same in all blocks but the first and the last, which border on other things: three blocks say
// what forty would. On a GPU samples have two blocks, which count the same. What a rank of a plan
// computes depends on the plan: for several ranks the samples are those of a data-parallel and of a tensor-
// parallel rank. A GPU is not busy with the few tokens that a CPU takes long for: its samples have thousands,
// and models with dropout are measured without it, too, since other kernels compute attention then.
// The first sample is a small one: it is what measures how ranks share the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline runs {

// Size of a rank's micro-batch.
struct SampleSize {
  std::int64_t batch, tokens;
};

struct SampleProgram {
  std::string name;  // "gpt2, 2 layers, 4 x 256 tokens, tp 2"
  ModelConfig config;
  StepRequest request;
  Plan plan = {};
  // What a block counts that is neither the first nor the last: the model has so many times as many of them.
  double inner_weight = 1;
};

struct MeasuringOptions {
  std::vector<ModelConfig> models;
  std::int64_t ranks = 1;
  bool quick = false;  // few sizes, and nothing but what training of `models` runs
  // Not empty: training of `models` with micro-batches of these sizes, and nothing else.
  std::vector<SampleSize> sizes = {};
  DType dtype = DType::kF32;
  bool gpu = false;
};

std::vector<SampleProgram> sample_programs(const MeasuringOptions& options);

}  // namespace nadi::inline runs
