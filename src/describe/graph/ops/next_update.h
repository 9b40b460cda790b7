// Which update of the optimizer this step makes, and with which learning rate. Counters and schedules are in
// the graph, so that a step can be launched before the host knows whether the one before was skipped.
//
//   update_number = updates + 1
//   learning_rate = learning_rate_at(schedule, schedule_position)                      (learning_rate.h)
//   decay_factor  = weight_decay_at(schedule, schedule_position) / full_weight_decay   (1 without a schedule)
//
// Then the step moves on: updates += 1 and schedule_position += schedule_advance or, when found_inf is not 0,
// skipped_updates += 1 and nothing else. Schedules are attributes: they do not change from step to step.
// Kernels compute them in double precision through UpdateSchedules and round the result to f32, so that every
// engine and the host's log have the same rate.
#pragma once

#include <optional>

#include "nadi/graph/builder.h"
#include "nadi/graph/learning_rate.h"

namespace nadi::inline describe {

struct NextUpdateArgs {
  TensorId updates = kNoTensor;            // i64 scalar variable: updates that this optimizer has made
  TensorId schedule_position = kNoTensor;  // i64 scalar variable: work done, in the unit of the schedules
  TensorId skipped_updates = kNoTensor;    // i64 scalar variable
  TensorId schedule_advance = kNoTensor;   // i64 scalar: how far this step moves the schedules
  TensorId found_inf = kNoTensor;          // f32 scalar
  LearningRate learning_rate = {};
  std::optional<WeightDecaySchedule> weight_decay = {};
  double full_weight_decay = 0;  // what the optimizer's ops multiply the factor with
};
struct NextUpdate {
  TensorId learning_rate;  // f32 scalar
  TensorId update_number;  // i64 scalar
  TensorId decay_factor;   // f32 scalar
};
NextUpdate next_update(GraphBuilder& builder, const NextUpdateArgs& args);

// The schedules of an op, for kernels.
class UpdateSchedules {
 public:
  explicit UpdateSchedules(const Attributes& attributes);
  double learning_rate(double position) const;
  double decay_factor(double position) const;

  // For a device that computes them itself.
  const LearningRate& rate() const { return rate_; }
  const WeightDecaySchedule& decay() const { return decay_; }
  double full_weight_decay() const { return full_weight_decay_; }

 private:
  LearningRate rate_;
  WeightDecaySchedule decay_;
  double full_weight_decay_;  // 0 means the factor is 1
};

// Inputs and outputs by position, for kernels.
namespace next_update_io {
enum : int { kUpdates, kSchedulePosition, kSkippedUpdates, kScheduleAdvance, kFoundInf };
enum : int {
  kLearningRate,
  kUpdateNumber,
  kDecayFactor,
  kUpdatesAfter,
  kSchedulePositionAfter,
  kSkippedUpdatesAfter
};
}  // namespace next_update_io

}  // namespace nadi::inline describe
