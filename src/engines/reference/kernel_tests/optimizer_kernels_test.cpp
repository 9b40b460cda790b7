#include <gtest/gtest.h>

#include <cmath>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr std::int64_t kElements[]{1, 7, 513, 20000};

struct Case {
  DType parameter = DType::kF32;
  bool master = false;
  bool decoupled = true;
  double found_inf = 0;
  bool decay_factor = false;
};
constexpr Case kCases[]{{},
                        {.decay_factor = true},
                        {.decoupled = false, .decay_factor = true},
                        {.decoupled = false},
                        {.found_inf = 1},
                        {.parameter = DType::kBF16},
                        {.parameter = DType::kBF16, .master = true},
                        {.parameter = DType::kF16, .master = true, .found_inf = 1}};

UpdateArgs update_of(Problem& p, const Case& c, const Shape& shape) {
  UpdateArgs update{.parameter = p.parameter("p", shape, c.parameter),
                    .gradient = p.parameter("g", shape),
                    .learning_rate = p.scalar("learning_rate", 0.01),
                    .grad_scale = p.scalar("grad_scale", 0.5),
                    .found_inf = p.scalar("found_inf", c.found_inf)};
  if (c.master) update.master = p.parameter("master", shape);
  if (c.decay_factor) update.decay_factor = p.scalar("decay_factor", 0.25);
  return update;
}

TEST(AdamWKernel, IsTheReference) {
  for (const Case& c : kCases)
    for (const std::int64_t elements : kElements)
      for (const double update_number : {1.0, 1000.0}) {
        Problem p;
        const Shape shape{elements};
        const TensorId v = p.parameter("v", shape);
        for (double& value : p.store["v"]) value = std::abs(value);
        p.store.set("update_number", {update_number});
        adamw(p.builder, {.update = update_of(p, c, shape),
                          .m = p.parameter("m", shape),
                          .v = v,
                          .update_number = p.builder.input("update_number", Shape{}, DType::kI64),
                          .weight_decay = 0.1,
                          .decoupled = c.decoupled});
        expect_same_as_reference(p);
      }
}

TEST(SgdKernel, IsTheReference) {
  for (const Case& c : kCases)
    for (const std::int64_t elements : kElements)
      for (const bool has_momentum : {false, true}) {
        Problem p;
        const Shape shape{elements};
        sgd(p.builder, {.update = update_of(p, c, shape),
                        .momentum_buffer = has_momentum ? p.parameter("u", shape) : kNoTensor,
                        .momentum = has_momentum ? 0.9 : 0.0,
                        .weight_decay = 0.1});
        expect_same_as_reference(p);
      }
}

TEST(SquaredNormKernel, SumsAllTensors) {
  Problem p;
  const std::vector<TensorId> gradients{
      p.parameter("a", Shape{1}), p.parameter("b", Shape{70, 1023}), p.parameter("c", Shape{7}, DType::kBF16),
      p.parameter("d", Shape{513}), p.parameter("e", Shape{30000}, DType::kF16)};
  squared_norm(p.builder, gradients, 0.5);
  squared_norm(p.builder, std::span(gradients).first(2));
  expect_same_as_reference(p, {.max_error = 1e-13});
}

TEST(SquaredNormKernel, SumsHundredsOfTensors) {
  Problem p;
  std::vector<TensorId> gradients;
  for (int i = 0; i < 300; ++i)
    gradients.push_back(p.parameter("g" + std::to_string(i), Shape{1 + i % 5 * 1000}));
  squared_norm(p.builder, gradients);
  expect_same_as_reference(p, {.max_error = 1e-13});
}

TEST(GradScaleKernel, Clips) {
  // Norm 3 of a scaled gradient with loss scale 2 is 1.5; clipped to 1 it is scaled by 1 / 1.5 / 2.
  for (const double max_norm : {0.0, 1.0, 10.0}) {
    Problem p;
    const TensorId squared = p.scalar("squared", 9);
    grad_scale(p.builder,
               {.squared_norm = squared, .max_norm = max_norm, .grad_norm = p.parameter("n", Shape{})});
    grad_scale(p.builder, {.squared_norm = squared,
                           .loss_scale = p.scalar("loss_scale", 2),
                           .max_norm = max_norm,
                           .grad_norm = p.parameter("m", Shape{})});
    expect_same_as_reference(p);
  }
}

TEST(GradScaleKernel, FindsInfinities) {
  // 1e30 squared is beyond fp32.
  Problem p;
  const TensorId gradients[]{p.input("g", Shape{2}, {1, 1e30})};
  p.output(grad_scale(p.builder, {.squared_norm = squared_norm(p.builder, gradients),
                                  .grad_norm = p.parameter("n", Shape{})})
               .found_inf);
  EXPECT_EQ(run_kernels_for_floats(p, 1)[0], 1);
}

TEST(UpdateLossScaleKernel, HalvesAndDoubles) {
  for (const double found_inf : {0.0, 1.0})
    for (const double good_steps : {0.0, 4.0}) {
      Problem p;
      const TensorId scale = p.parameter("scale", Shape{}), good = p.parameter("good_steps", Shape{});
      p.store.set("scale", {1024});
      p.store.set("good_steps", {good_steps});
      update_loss_scale(p.builder, {.found_inf = p.scalar("found_inf", found_inf),
                                    .loss_scale = scale,
                                    .good_steps = good,
                                    .growth_interval = 5});
      expect_same_as_reference(p);
    }
}

struct UpdateCase {
  LearningRate rate;
  std::optional<WeightDecaySchedule> decay = {};
};
const UpdateCase kUpdateCases[]{
    {.rate = {.decay = Decay::kConstant}},
    {.rate = {.decay = Decay::kCosine, .peak = 1e-3, .minimum = 1e-5, .warmup = 7, .total = 100}},
    {.rate = {.decay = Decay::kInverseSquareRoot, .peak = 0.3, .warmup = 10, .total = 500}},
    {.rate = {.decay = Decay::kWarmupStableDecay,
              .peak = 0.7,
              .unit = ScheduleUnit::kSamples,
              .total = 90,
              .stable_decay_length = 30,
              .stable_decay = StableDecay::kMinusSquareRoot,
              .late_warmup = true},
     .decay =
         WeightDecaySchedule{.growth = WeightDecayGrowth::kCosine, .start = 0.01, .end = 0.1, .length = 90}}};

TensorId counter(Problem& p, const std::string& name, double value) {
  p.store.set(name, {value});
  return p.builder.variable({.name = name, .dtype = DType::kI64, .role = Role::kCounter});
}

NextUpdate update_at(Problem& p, const UpdateCase& c, double position, double found_inf) {
  p.store.set("schedule_advance", {3});
  return next_update(p.builder,
                     {.updates = counter(p, "updates", 4),
                      .schedule_position = counter(p, "schedule_position", position),
                      .skipped_updates = counter(p, "skipped_updates", 1),
                      .schedule_advance = p.builder.input("schedule_advance", Shape{}, DType::kI64),
                      .found_inf = p.scalar("found_inf", found_inf),
                      .learning_rate = c.rate,
                      .weight_decay = c.decay,
                      .full_weight_decay = 0.1});
}

TEST(NextUpdateKernel, IsTheReference) {
  for (const UpdateCase& c : kUpdateCases)
    for (const double found_inf : {0.0, 1.0}) {
      Problem p;
      update_at(p, c, 42, found_inf);
      expect_same_as_reference(p);
    }
}

// What the log says is what the optimizer gets, though kernels are compiled with other flags than the host's
// code.
TEST(NextUpdateKernel, HasTheHostsRateToTheBit) {
  for (const UpdateCase& c : kUpdateCases)
    for (int position = 0; position < 120; ++position) {
      Problem p;
      p.output(update_at(p, c, position, 0).learning_rate);
      EXPECT_EQ(run_kernels_for_floats(p, 1)[0], static_cast<float>(learning_rate_at(c.rate, position)))
          << "position " << position;
      if (!c.decay) continue;
      Problem q;
      q.output(update_at(q, c, position, 0).decay_factor);
      EXPECT_EQ(run_kernels_for_floats(q, 1)[0],
                static_cast<float>(weight_decay_at(*c.decay, position) / 0.1));
    }
}

}  // namespace
}  // namespace nadi::inline engines
