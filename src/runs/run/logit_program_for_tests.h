// For tests: a forward pass that keeps its logits, to be compared with those of other programs.
//
//   const Program program = logit_program(config, batch, tokens);
//   ...                                            // load, bind, set inputs, run
//   engine.read_all<float>("logits")               // [batch, tokens, vocabulary]
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/engine/engine.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"
#include "nadi/model/model.h"
#include "nadi/parallel/program.h"

namespace nadi::inline runs {

// Keeps the logits in the variable "logits" instead of taking their loss.
class LogitLayers : public Layers {
 public:
  using Layers::Layers;

 protected:
  void loss_of(TensorId logits, TensorId /*targets*/, TensorId /*count*/) override {
    const TensorId kept = builder_.variable(
        {.name = "logits", .shape = builder_.shape(logits), .dtype = DType::kF32, .role = Role::kCache});
    cache_write(builder_, {.cache = kept, .rows = logits});
  }
};

inline Program logit_program(const ModelConfig& config, std::int64_t batch, std::int64_t tokens) {
  const ForwardOptions options{.mode = ForwardMode::kEvaluate, .batch_size = batch, .seq_length = tokens};
  GraphBuilder builder;
  LogitLayers layers(builder, config, options);
  build_forward(config, layers);
  Program program;
  program.graphs.push_back(builder.take());
  const auto ops = static_cast<std::uint32_t>(program.graphs[0].ops().size());
  program.sections.push_back({.name = "forward", .end_op = ops});
  program.instructions.push_back({});
  program.slots = {1};
  return program;
}

template <class T>
void set_if_wanted(Engine& engine, ProgramHandle program, const char* name, const std::vector<T>& values) {
  if (engine.has_input(program, name)) engine.set_input<T>(program, InputSet::kFirst, name, values);
}

}  // namespace nadi::inline runs
