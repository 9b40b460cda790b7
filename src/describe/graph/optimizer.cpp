#include "nadi/graph/optimizer.h"

#include "nadi/base/error.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/adamw.h"
#include "nadi/graph/ops/add.h"
#include "nadi/graph/ops/gradient_scaling.h"
#include "nadi/graph/ops/next_update.h"
#include "nadi/graph/ops/sgd.h"
#include "nadi/graph/ops/sgd_sai.h"

namespace nadi::inline describe {
namespace {

constexpr double kFirstLossScale = 65536;

// "transformer.h.0.attn.c_attn.weight" belongs to "transformer.h.0.attn.c_attn".
std::string layer_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

class OptimizerBuilder {
 public:
  OptimizerBuilder(GraphBuilder& builder, const OptimizerOptions& options)
      : builder_(builder), options_(options) {}

  void scale_gradients(const OptimizerInput& input, const LossScale& loss_scale) {
    const auto scope = builder_.in_layer("optimizer");
    const TensorId metric = builder_.variable({.name = "grad_norm", .role = Role::kMetric});
    if (!takes_grad_norm(options_, loss_scale.scale != kNoTensor)) return number_update();
    const GradScale scaled = grad_scale(builder_, {.squared_norm = global_squares(input),
                                                   .loss_scale = loss_scale.scale,
                                                   .max_norm = options_.max_grad_norm,
                                                   .grad_norm = metric});
    update_.grad_scale = scaled.scale;
    if (loss_scale.scale != kNoTensor) update_.found_inf = scaled.found_inf;
    number_update();
    if (loss_scale.scale == kNoTensor) return;
    update_loss_scale(
        builder_,
        {.found_inf = scaled.found_inf, .loss_scale = loss_scale.scale, .good_steps = loss_scale.good_steps});
  }

  void update(TensorId parameter, TensorId gradient, bool decays) {
    const Tensor tensor = builder_.tensor(parameter);
    const auto scope = builder_.in_layer(layer_of(tensor.name));
    UpdateArgs update = update_;
    update.parameter = parameter;
    update.gradient = gradient;
    if (tensor.dtype != DType::kF32)
      update.master = state(tensor, ".master", Initializer::copy_of(parameter));
    const double decay = decays ? options_.weight_decay : 0;
    switch (options_.kind) {
      case OptimizerKind::kAdamW:
      case OptimizerKind::kAdam:
        return adamw(builder_, {.update = update,
                                .m = state(tensor, ".m"),
                                .v = state(tensor, ".v"),
                                .update_number = update_number_,
                                .beta1 = options_.beta1,
                                .beta2 = options_.beta2,
                                .epsilon = options_.epsilon,
                                .weight_decay = decay,
                                .decoupled = options_.kind == OptimizerKind::kAdamW});
      case OptimizerKind::kSgd:
        return sgd(builder_,
                   {.update = update,
                    .momentum_buffer = options_.momentum != 0 ? state(tensor, ".momentum") : kNoTensor,
                    .momentum = options_.momentum,
                    .weight_decay = decay});
      case OptimizerKind::kSgdSai:
        return sgd_sai(
            builder_,
            {.update = update,
             .momentum_buffer = options_.momentum != 0 ? state(tensor, ".momentum") : kNoTensor,
             .lr_scale = builder_.variable(
                 {.name = tensor.name + ".lr_scale", .shape = Shape{1}, .role = Role::kOptimizerState}),
             .momentum = options_.momentum,
             .weight_decay = decay});
    }
    unreachable();
  }

 private:
  void number_update() {
    const auto counter = [&](const char* name) {
      return builder_.variable({.name = name, .dtype = DType::kI64, .role = Role::kCounter});
    };
    const NextUpdate next =
        next_update(builder_, {.updates = counter("updates"),
                               .schedule_position = counter("schedule_position"),
                               .skipped_updates = counter("skipped_updates"),
                               .schedule_advance = builder_.input("schedule_advance", Shape{}, DType::kI64),
                               .found_inf = update_.found_inf,
                               .learning_rate = options_.learning_rate,
                               .weight_decay = options_.weight_decay_schedule,
                               .full_weight_decay = options_.weight_decay});
    update_.learning_rate = next.learning_rate;
    update_number_ = next.update_number;
    if (options_.weight_decay_schedule) update_.decay_factor = next.decay_factor;
  }

  // Sum of squares of the gradients of all ranks.
  TensorId global_squares(const OptimizerInput& input) {
    TensorId sum = kNoTensor;
    for (const OptimizerInput::NormPart& part : input.norm) {
      if (part.gradients.empty()) continue;
      const TensorId squares = squared_norm(builder_, part.gradients, part.factor);
      sum = sum == kNoTensor ? squares : add(builder_, sum, squares);
    }
    if (sum == kNoTensor)  // a pipeline stage without parameters
      sum = builder_.add_one({.kind = OpKind::kFill, .inputs = {}});
    for (const GroupArgs& group : input.norm_groups) sum = all_reduce(builder_, {.x = sum, .group = group});
    return sum;
  }

  TensorId state(const Tensor& parameter, const char* suffix, Initializer initializer = {}) {
    return builder_.variable({.name = parameter.name + suffix,
                              .shape = parameter.shape,
                              .dtype = DType::kF32,
                              .role = Role::kOptimizerState,
                              .initializer = initializer,
                              .shards = parameter.shards});
  }

  GraphBuilder& builder_;
  const OptimizerOptions& options_;
  UpdateArgs update_;  // what is the same for all parameters
  TensorId update_number_ = kNoTensor;
};

}  // namespace

std::string_view to_string(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kAdamW:
      return "adamw";
    case OptimizerKind::kAdam:
      return "adam";
    case OptimizerKind::kSgd:
      return "sgd";
    case OptimizerKind::kSgdSai:
      return "sgd-sai";
  }
  unreachable();
}

bool takes_grad_norm(const OptimizerOptions& options, bool has_loss_scale) {
  return options.max_grad_norm > 0 || has_loss_scale;
}

LossScale make_loss_scale(GraphBuilder& builder) {
  return {.scale = builder.variable({.name = "loss_scale",
                                     .role = Role::kMetric,
                                     .initializer = Initializer::constant(kFirstLossScale)}),
          .good_steps = builder.variable({.name = "loss_scale.good_steps", .role = Role::kMetric})};
}

void add_optimizer(GraphBuilder& builder, const OptimizerInput& input, const OptimizerOptions& options,
                   const LossScale& loss_scale) {
  const auto phase = builder.in_phase(Phase::kOptimizer);
  OptimizerBuilder optimizer(builder, options);
  optimizer.scale_gradients(input, loss_scale);
  for (const auto& [parameter, gradient, decays] : input.updates)
    optimizer.update(parameter, gradient, decays);
}

void add_optimizer(GraphBuilder& builder, const Backward& backward, const OptimizerOptions& options,
                   const LossScale& loss_scale) {
  OptimizerInput input;
  input.norm.emplace_back();
  for (const auto& [parameter, gradient] : backward.parameters) {
    input.updates.push_back({parameter, gradient, builder.shape(parameter).rank() >= 2});
    input.norm[0].gradients.push_back(gradient);
  }
  add_optimizer(builder, input, options, loss_scale);
}

}  // namespace nadi::inline describe
