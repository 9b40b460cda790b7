// One step of each optimizer, and of the loss scale, by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A scalar variable with a value.
TensorId state(Problem& p, const std::string& name, double value, DType dtype = DType::kF32) {
  p.store.set(name, {value});
  return p.builder.variable({.name = name, .dtype = dtype, .role = Role::kOptimizerState});
}

double scalar(const Problem& p, const std::string& name) {
  return p.store.get(name).front();
}

struct AdamWSetting {
  bool decoupled = true;
  bool master = false;
  double found_inf = 0;
};

// p = 2, g = 3 scaled by 0.5, m = 0.1, v = 0.2, step 2, rate 0.1, betas 0.9 and 0.99, decay 0.01.
Problem adamw_problem(const AdamWSetting& setting) {
  Problem p;
  const bool master = setting.master;
  adamw(p.builder,
        {.update = {.parameter = state(p, "p", master ? 1.9 : 2, master ? DType::kBF16 : DType::kF32),
                    .gradient = p.scalar("g", 3),
                    .master = master ? state(p, "master", 2) : kNoTensor,
                    .learning_rate = p.scalar("learning_rate", 0.1),
                    .grad_scale = p.scalar("grad_scale", 0.5),
                    .found_inf = p.scalar("found_inf", setting.found_inf)},
         .m = state(p, "m", 0.1),
         .v = state(p, "v", 0.2),
         .update_number = p.scalar("update_number", 2),
         .beta1 = 0.9,
         .beta2 = 0.99,
         .epsilon = 1e-3,
         .weight_decay = 0.01,
         .decoupled = setting.decoupled});
  p.run();
  return p;
}

TEST(AdamW, MakesOneStep) {
  const Problem p = adamw_problem({});
  const double m = 0.9 * 0.1 + 0.1 * 1.5;          // 0.24
  const double v = 0.99 * 0.2 + 0.01 * 1.5 * 1.5;  // 0.2205
  const double m_hat = m / (1 - 0.81);             // 0.9^2
  const double v_hat = v / (1 - 0.9801);           // 0.99^2
  const double direction = m_hat / (std::sqrt(v_hat) + 1e-3) + 0.01 * 2;
  EXPECT_NEAR(scalar(p, "m"), m, 1e-15);
  EXPECT_NEAR(scalar(p, "v"), v, 1e-15);
  EXPECT_NEAR(scalar(p, "p"), 2 - 0.1 * direction, 1e-12);
}

TEST(AdamW, CoupledDecayGoesThroughTheMoments) {
  const Problem p = adamw_problem({.decoupled = false});
  const double g = 1.5 + 0.01 * 2;
  const double m_hat = (0.09 + 0.1 * g) / 0.19, v_hat = (0.198 + 0.01 * g * g) / 0.0199;
  EXPECT_NEAR(scalar(p, "p"), 2 - 0.1 * m_hat / (std::sqrt(v_hat) + 1e-3), 1e-12);
}

TEST(AdamW, UpdatesTheMasterAndCopiesItToTheParameter) {
  const Problem p = adamw_problem({.master = true});
  EXPECT_EQ(scalar(p, "master"), scalar(adamw_problem({}), "p"));
  EXPECT_EQ(scalar(p, "p"), scalar(p, "master"));
}

TEST(AdamW, ChangesNothingAfterAnOverflow) {
  const Problem p = adamw_problem({.master = true, .found_inf = 1});
  EXPECT_EQ(scalar(p, "p"), 1.9);
  EXPECT_EQ(scalar(p, "master"), 2);
  EXPECT_EQ(scalar(p, "m"), 0.1);
  EXPECT_EQ(scalar(p, "v"), 0.2);
}

// Weight decay of 0.5 times 0.4: p - 0.1 * (0 + 0.5 * 0.4 * 1) = 0.98.
TEST(Sgd, TheDecayFactorScalesWeightDecay) {
  Problem p;
  sgd(p.builder, {.update = {.parameter = state(p, "p", 1),
                             .gradient = p.scalar("g", 0),
                             .learning_rate = p.scalar("learning_rate", 0.1),
                             .decay_factor = p.scalar("decay_factor", 0.4)},
                  .weight_decay = 0.5});
  p.run();
  EXPECT_NEAR(scalar(p, "p"), 0.98, 1e-15);
}

TEST(Sgd, MakesOneStepWithAndWithoutMomentum) {
  for (const bool momentum : {false, true}) {
    Problem p;
    sgd(p.builder, {.update = {.parameter = state(p, "p", 1.9, DType::kBF16),
                               .gradient = p.scalar("g", 3),
                               .master = state(p, "master", 2),
                               .learning_rate = p.scalar("learning_rate", 0.1),
                               .grad_scale = p.scalar("grad_scale", 0.5)},
                    .momentum_buffer = momentum ? state(p, "u", 4) : kNoTensor,
                    .momentum = 0.9,
                    .weight_decay = 0.01});
    p.run();
    // g' = 3 * 0.5 + 0.01 * 2 = 1.52; with momentum u = 0.9 * 4 + 1.52 = 5.12.
    EXPECT_NEAR(scalar(p, "master"), 2 - 0.1 * (momentum ? 5.12 : 1.52), 1e-15);
    EXPECT_EQ(scalar(p, "p"), scalar(p, "master"));
    EXPECT_NEAR(momentum ? scalar(p, "u") : 5.12, 5.12, 1e-15);
  }
}

struct Scaled {
  double norm, scale, found_inf;
};

// Scales gradients (3, 4) and (12), whose norm is 13.
Scaled scaled(double loss_scale, double max_norm, double last = 12) {
  Problem p;
  const TensorId norm = state(p, "grad_norm", 0);
  const std::array<TensorId, 2> gradients{p.input("a", Shape{2}, {3, 4}), p.input("b", Shape{1}, {last})};
  const GradScale result = grad_scale(p.builder, {.squared_norm = squared_norm(p.builder, gradients),
                                                  .loss_scale = p.scalar("loss_scale", loss_scale),
                                                  .max_norm = max_norm,
                                                  .grad_norm = norm});
  p.output(result.scale);
  p.output(result.found_inf);
  const std::vector<Doubles> outputs = p.run();
  return {scalar(p, "grad_norm"), outputs[0][0], outputs[1][0]};
}

TEST(GradScale, ClipsByTheNormWithoutTheLossScale) {
  EXPECT_EQ(scaled(1, 0).norm, 13);
  EXPECT_EQ(scaled(1, 0).scale, 1);
  EXPECT_EQ(scaled(1, 20).scale, 1);
  EXPECT_NEAR(scaled(1, 6.5).scale, 6.5 / (13 + 1e-6), 1e-15);
  // With a loss scale of 4 the gradients are those of norm 13 / 4.
  EXPECT_EQ(scaled(4, 0).norm, 3.25);
  EXPECT_EQ(scaled(4, 0).scale, 0.25);
  EXPECT_NEAR(scaled(4, 1).scale, 1 / (3.25 + 1e-6) / 4, 1e-15);
  EXPECT_EQ(scaled(4, 1).found_inf, 0);
  EXPECT_EQ(scaled(4, 1, kInfinity).found_inf, 1);
  EXPECT_EQ(scaled(4, 1, std::nan("")).found_inf, 1);
}

TEST(UpdateLossScale, HalvesAndDoubles) {
  Problem p;
  update_loss_scale(p.builder, {.found_inf = p.scalar("found_inf", 0),
                                .loss_scale = state(p, "loss_scale", 2),
                                .good_steps = state(p, "good_steps", 0),
                                .growth_interval = 2});
  const auto scale_after = [&](double found_inf) {
    p.store.set("found_inf", {found_inf});
    p.run();
    return scalar(p, "loss_scale");
  };
  EXPECT_EQ(scale_after(0), 2);
  EXPECT_EQ(scale_after(0), 4);  // two good steps in a row
  EXPECT_EQ(scale_after(0), 4);
  EXPECT_EQ(scale_after(1), 2);  // starts counting again
  EXPECT_EQ(scale_after(0), 2);
  EXPECT_EQ(scale_after(0), 4);
  EXPECT_EQ(scale_after(1), 2);
  EXPECT_EQ(scale_after(1), 1);
  EXPECT_EQ(scale_after(1), 1);  // not below 1
}

TensorId counter(Problem& p, const std::string& name, double value) {
  p.store.set(name, {value});
  return p.builder.variable({.name = name, .dtype = DType::kI64, .role = Role::kCounter});
}

TensorId integer(Problem& p, const std::string& name, double value) {
  p.store.set(name, {value});
  return p.builder.input(name, Shape{}, DType::kI64);
}

TEST(NextUpdate, CountsUpdatesAndSkipsThoseThatOverflow) {
  Problem p;
  const NextUpdate next = next_update(
      p.builder,
      {.updates = counter(p, "updates", 4),
       .schedule_position = counter(p, "schedule_position", 20),
       .skipped_updates = counter(p, "skipped_updates", 1),
       .schedule_advance = integer(p, "schedule_advance", 5),
       .found_inf = p.scalar("found_inf", 0),
       .learning_rate = {.decay = Decay::kLinear,
                         .peak = 0.5,
                         .unit = ScheduleUnit::kSamples,
                         .total = 40,
                         .late_warmup = true},
       .weight_decay =
           WeightDecaySchedule{.growth = WeightDecayGrowth::kLinear, .start = 0, .end = 0.25, .length = 40},
       .full_weight_decay = 0.5});
  for (const TensorId output : {next.learning_rate, next.update_number, next.decay_factor}) p.output(output);
  const auto counters = [&] {
    return std::array{scalar(p, "updates"), scalar(p, "schedule_position"), scalar(p, "skipped_updates")};
  };
  // 20 of 40 samples: half of the peak, and half of the way to 0.25, which is a quarter of 0.5.
  EXPECT_EQ(p.run(), (std::vector<Doubles>{{0.25}, {5}, {0.25}}));
  EXPECT_EQ(counters(), (std::array{5.0, 25.0, 1.0}));
  p.store.set("found_inf", {1});
  EXPECT_EQ(p.run(), (std::vector<Doubles>{{0.5 * (1 - 25.0 / 40)}, {6}, {0.25 * 25 / 40 / 0.5}}));
  EXPECT_EQ(counters(), (std::array{5.0, 25.0, 2.0}));
}

// An fp16 step: the loss scale is where the backward pass starts, and leaves the update again. Since nothing
// is rounded here, parameters after a step do not depend on it.
Doubles weights_after_step(double loss_scale, double x) {
  Problem p;
  const TensorId weight = p.parameter("weight", Shape{2, 3}, DType::kF16);
  const TensorId master = p.builder.variable({.name = "weight.master",
                                              .shape = Shape{2, 3},
                                              .role = Role::kOptimizerState,
                                              .initializer = Initializer::copy_of(weight)});
  const TensorId scale = state(p, "loss_scale", loss_scale);
  const TensorId input = cast(p.builder, p.input("x", Shape{1, 2}, {x, 1}), DType::kF16);
  const TensorId loss = cross_entropy(p.builder, {.logits = matmul(p.builder, {.a = input, .b = weight}),
                                                  .targets = p.integers("targets", Shape{1}, {2}),
                                                  .count = p.scalar("count", 1)});
  const Backward backward = add_backward(p.builder, {.seeds = {{loss, scale}}});
  const TensorId gradient = backward.parameters.front().gradient;
  EXPECT_EQ(p.builder.tensor(gradient).dtype, DType::kF32);
  const auto scope = p.builder.in_phase(Phase::kOptimizer);
  const GradScale factor =
      grad_scale(p.builder, {.squared_norm = squared_norm(p.builder, {{gradient}}), .loss_scale = scale});
  sgd(p.builder, {.update = {.parameter = weight,
                             .gradient = gradient,
                             .master = master,
                             .learning_rate = p.scalar("learning_rate", 0.1),
                             .grad_scale = factor.scale,
                             .found_inf = factor.found_inf}});
  p.run();
  EXPECT_EQ(p.store.get("weight"), p.store.get("weight.master"));
  return p.store.get("weight");
}

TEST(MixedPrecisionStep, DoesNotDependOnTheLossScale) {
  const Doubles plain = weights_after_step(1, 0.5);
  EXPECT_NE(plain, normal_values("weight", 6));
  EXPECT_EQ(weights_after_step(1024, 0.5), plain);  // a power of two changes no digit
}

TEST(MixedPrecisionStep, IsSkippedAfterAnOverflow) {
  EXPECT_EQ(weights_after_step(1024, kInfinity), normal_values("weight", 6));
}

}  // namespace
}  // namespace nadi::inline engines
