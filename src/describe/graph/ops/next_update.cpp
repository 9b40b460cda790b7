#include "nadi/graph/ops/next_update.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

// Attributes name the forms of schedules, so that traces and printed graphs can be read.
std::size_t place_of(std::span<const std::string_view> names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  check(found != names.end(), "an unknown form of a schedule");
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<OutputSpec> infer(const OpView& op) {
  using namespace next_update_io;
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i)
    if (op.has(i)) op.require(op.in(i) == Shape{}, "takes scalars");
  for (const int i : {kUpdates, kSchedulePosition, kSkippedUpdates, kScheduleAdvance})
    op.require(op.input(i).dtype == DType::kI64, "counts in i64");
  const OutputSpec real{Shape{}, DType::kF32}, count{Shape{}, DType::kI64};
  return {real, count, real, count, count, count};
}

}  // namespace

NextUpdate next_update(GraphBuilder& builder, const NextUpdateArgs& args) {
  const LearningRate& rate = args.learning_rate;
  const WeightDecaySchedule decay = args.weight_decay.value_or(WeightDecaySchedule{});
  const auto name_in = [](std::span<const std::string_view> names, auto form) {
    return std::string(names[static_cast<std::size_t>(form)]);
  };
  const std::vector<TensorId> outputs =
      builder.add({.kind = OpKind::kNextUpdate,
                   .inputs = {args.updates, args.schedule_position, args.skipped_updates,
                              args.schedule_advance, args.found_inf},
                   .attributes = {{"decay", std::string(to_string(rate.decay))},
                                  {"peak", rate.peak},
                                  {"minimum", rate.minimum},
                                  {"start", rate.start},
                                  {"in_samples", rate.unit == ScheduleUnit::kSamples},
                                  {"warmup", rate.warmup},
                                  {"decay_end", rate.decay_end},
                                  {"total", rate.total},
                                  {"stable_decay_length", rate.stable_decay_length},
                                  {"stable_decay", name_in(stable_decay_names(), rate.stable_decay)},
                                  {"late_warmup", rate.late_warmup},
                                  {"weight_decay", args.weight_decay ? args.full_weight_decay : 0},
                                  {"weight_decay_growth", name_in(weight_decay_growth_names(), decay.growth)},
                                  {"weight_decay_start", decay.start},
                                  {"weight_decay_end", decay.end},
                                  {"weight_decay_length", decay.length}},
                   .into = {{}, {}, {}, {args.updates}, {args.schedule_position}, {args.skipped_updates}}});
  using namespace next_update_io;
  return {outputs[kLearningRate], outputs[kUpdateNumber], outputs[kDecayFactor]};
}

UpdateSchedules::UpdateSchedules(const Attributes& attributes)
    : full_weight_decay_(attributes.real("weight_decay")) {
  const auto entry = std::ranges::find(decays(), attributes.text("decay"), &DecayEntry::name);
  check(entry != decays().end(), "an unknown decay of the learning rate");
  rate_ = {.decay = entry->decay,
           .peak = attributes.real("peak"),
           .minimum = attributes.real("minimum"),
           .start = attributes.real("start"),
           .unit = attributes.boolean("in_samples") ? ScheduleUnit::kSamples : ScheduleUnit::kSteps,
           .warmup = attributes.real("warmup"),
           .decay_end = attributes.real("decay_end"),
           .total = attributes.real("total"),
           .stable_decay_length = attributes.real("stable_decay_length"),
           .stable_decay = StableDecay{static_cast<std::uint8_t>(
               place_of(stable_decay_names(), attributes.text("stable_decay")))},
           .late_warmup = attributes.boolean("late_warmup")};
  decay_ = {.growth = WeightDecayGrowth{static_cast<std::uint8_t>(
                place_of(weight_decay_growth_names(), attributes.text("weight_decay_growth")))},
            .start = attributes.real("weight_decay_start"),
            .end = attributes.real("weight_decay_end"),
            .length = attributes.real("weight_decay_length")};
}

double UpdateSchedules::learning_rate(double position) const {
  return learning_rate_at(rate_, position);
}

double UpdateSchedules::decay_factor(double position) const {
  if (full_weight_decay_ == 0) return 1;
  return weight_decay_at(decay_, position) / full_weight_decay_;
}

OpDefinition next_update_definition() {
  const LearningRate rate;
  return {.kind = OpKind::kNextUpdate,
          .name = "next_update",
          .work = WorkKind::kOptimizer,
          .attributes = {{"decay", std::string(to_string(rate.decay))},
                         {"peak", rate.peak},
                         {"minimum", 0.0},
                         {"start", 0.0},
                         {"in_samples", false},
                         {"warmup", 0.0},
                         {"decay_end", 0.0},
                         {"total", 0.0},
                         {"stable_decay_length", 0.0},
                         {"stable_decay", std::string(stable_decay_names()[0])},
                         {"late_warmup", false},
                         {"weight_decay", 0.0},
                         {"weight_decay_growth", std::string(weight_decay_growth_names()[0])},
                         {"weight_decay_start", 0.0},
                         {"weight_decay_end", 0.0},
                         {"weight_decay_length", 0.0}},
          .inputs = {"updates", "schedule_position", "skipped_updates", "schedule_advance", "found_inf?"},
          .infer = infer};
}

}  // namespace nadi::inline describe
