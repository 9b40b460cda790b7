// Appends the optimizer to a graph that has its backward pass: gradient norm, clipping, loss scale, and one
// update op per parameter. State it makes: "<parameter>.m" and ".v" (Adam), ".momentum" (SGD),
// ".lr_scale" (SGD-SaI), ".master" (fp32 copy of a low-precision parameter). Counters it makes: updates,
// schedule_position and skipped_updates, from which the step knows its number and its learning rate
// (ops/next_update.h). Input it makes: schedule_advance. Metric: grad_norm, which stays 0 where the norm is
// not taken (takes_grad_norm()): a checkpoint has the same tensors with and without clipping.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/graph/learning_rate.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline describe {

enum class OptimizerKind : std::uint8_t { kAdamW, kAdam, kSgd, kSgdSai };
std::string_view to_string(OptimizerKind kind);  // "adamw", "adam", "sgd", "sgd-sai"

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0.9;       // SGD and SGD-SaI; 0 for none
  double weight_decay = 0.01;  // of matrices; biases and norms have none
  LearningRate learning_rate = {};
  // Where weight decay changes from step to step; then weight_decay is its end.
  std::optional<WeightDecaySchedule> weight_decay_schedule = {};
  double max_grad_norm = 1;  // 0 means no clipping
};

// Whether a step takes the norm of its gradients, a pass over all of them: to clip them, or to find the
// overflows of a loss scale.
bool takes_grad_norm(const OptimizerOptions& options, bool has_loss_scale);

// `loss_scale` and `good_steps` are the variables of fp16's dynamic loss scale, kNoTensor without.
struct LossScale {
  TensorId scale = kNoTensor;
  TensorId good_steps = kNoTensor;
};

// What is updated, and how the global gradient norm comes about where several ranks share the work.
struct OptimizerInput {
  struct Update {
    TensorId parameter;
    TensorId gradient;
    bool decays;  // whether weight decay acts on it
  };
  // Gradients that enter the norm; `factor` is 1 / n for those that n of the ranks summed over hold alike.
  struct NormPart {
    std::vector<TensorId> gradients;
    double factor = 1;
  };
  std::vector<Update> updates;
  std::vector<NormPart> norm;
  std::vector<GroupArgs> norm_groups;  // over which the sum of squares is summed, one after the other
};

// What the names of state with the shape of its parameter end with.
inline constexpr std::array<std::string_view, 4> kStateSuffixes{".master", ".m", ".v", ".momentum"};

void add_optimizer(GraphBuilder& builder, const OptimizerInput& input, const OptimizerOptions& options,
                   const LossScale& loss_scale = {});

// The same for one rank that holds everything.
void add_optimizer(GraphBuilder& builder, const Backward& backward, const OptimizerOptions& options,
                   const LossScale& loss_scale = {});

// The variables of a dynamic loss scale that starts at 2^16.
LossScale make_loss_scale(GraphBuilder& builder);

}  // namespace nadi::inline describe
