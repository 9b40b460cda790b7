// The samples of each step, on all ranks together: the same number in every step, or a number that grows with
// the samples consumed.
//
//   const auto batches = BatchSchedule::ramp_up({.start = 16, .increment = 16, .samples = 96, .size = 64});
//   batches.size_of(1)             // 16: a step is counted from 1
//   batches.samples_before(3)      // 32: what steps 1 and 2 consumed
//
// The size of a step depends on the samples that the steps before it consumed, each counted with its full
// size. So it is a function of the step's number alone: a run that is continued needs nothing but that number
// to go on in the middle of a ramp-up.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace nadi::inline runs {

class BatchSchedule {
 public:
  static BatchSchedule constant(std::int64_t size);

  // Megatron's ramp-up: from `start` to `size` in equal increments, each after the same part of
  // `samples`. With n = (size - start) / increment, a step that begins after c samples has
  //   start + int(c / (samples / n)) * increment   for c <= samples,   else size.
  // The divisions are in double precision, as Megatron's.
  struct RampUp {
    std::int64_t start = 1;
    std::int64_t increment = 1;
    std::int64_t samples = 0;
    std::int64_t size = 1;
    // Sizes are rounded down to a multiple of this.
    std::int64_t multiple_of = 1;
  };
  // Error (usage) when `size` is not reached in whole increments, or a size is rounded down to nothing.
  static BatchSchedule ramp_up(const RampUp& ramp);

  // A size from a number of samples on. The first change is at 0 samples, and the numbers increase: else
  // Error (usage).
  struct Change {
    std::int64_t from_samples = 0;
    std::int64_t size = 1;
  };
  static BatchSchedule stepwise(std::span<const Change> changes);

  // Steps in a row with one size. The last phase has no end.
  struct Phase {
    std::int64_t first_step = 1;
    std::int64_t first_sample = 0;
    std::int64_t size = 1;
    bool operator==(const Phase&) const = default;
  };
  std::span<const Phase> phases() const { return phases_; }
  bool is_constant() const { return phases_.size() == 1; }
  std::int64_t largest() const;

  std::int64_t size_of(std::int64_t step) const;
  std::int64_t samples_before(std::int64_t step) const;

  // The steps of a run of so many samples, as Megatron counts them. Constant: samples that do not fill a
  // batch are left out. Ramp-up: every step that begins within the ramp-up and not after the last sample,
  // then whole batches. Stepwise: until all samples are consumed.
  std::int64_t steps_of_samples(std::int64_t samples) const;

  // Passes over data of which each ends with its last sample, in a step that may be short of samples.
  struct Position {
    std::int64_t epoch = 0;
    std::int64_t step_in_epoch = 0;  // steps of the epoch that are done
    bool operator==(const Position&) const = default;
  };
  std::int64_t steps_of_epochs(std::int64_t samples_per_epoch, std::int64_t epochs) const;
  Position position_after(std::int64_t steps, std::int64_t samples_per_epoch) const;

  bool operator==(const BatchSchedule& other) const { return phases_ == other.phases_; }

 private:
  enum class Kind : std::uint8_t { kConstant, kRampUp, kStepwise };
  // What a step that begins after so many samples has: the number of its size, which never falls, and of
  // which `last` is the highest; and that size.
  struct Rule {
    std::function<std::int64_t(std::int64_t consumed)> number_at;
    std::function<std::int64_t(std::int64_t number)> size;
    std::int64_t last = 0;
  };
  void follow(const Rule& rule);
  const Phase& phase_of(std::int64_t step) const;
  // Steps from `step` on that consume at least so many samples.
  std::int64_t steps_from(std::int64_t step, std::int64_t samples) const;

  Kind kind_ = Kind::kConstant;
  std::int64_t ramp_samples_ = 0;
  std::vector<Phase> phases_;
};

}  // namespace nadi::inline runs
