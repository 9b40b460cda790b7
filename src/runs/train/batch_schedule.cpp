#include "nadi/train/batch_schedule.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/round_up.h"
#include "nadi/base/units.h"

namespace nadi::inline runs {
namespace {

// Beyond these a schedule is a mistake in typing, and products of them would not be numbers.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 48;
constexpr std::int64_t kMostPhases = 100'000;

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  check(a >= 0 && b >= 0, "counts are not negative");
  if (a > std::numeric_limits<std::int64_t>::max() - b) throw usage_error("more samples than can be counted");
  return a + b;
}

void check_size(std::int64_t size) {
  if (size < 1 || size > kMostSamples)
    throw usage_error(format("a batch of {} samples: it must be 1 to {}", size, kMostSamples));
}

}  // namespace

BatchSchedule BatchSchedule::constant(std::int64_t size) {
  check_size(size);
  BatchSchedule schedule;
  schedule.phases_.push_back({.size = size});
  return schedule;
}

BatchSchedule BatchSchedule::ramp_up(const RampUp& ramp) {
  check_size(ramp.start);
  check_size(ramp.increment);
  check_size(ramp.size);
  if (ramp.samples < 0 || ramp.samples > kMostSamples)
    throw usage_error(format("a ramp-up over {} samples: it must be 0 to {}", ramp.samples, kMostSamples));
  if (ramp.start > ramp.size)
    throw usage_error(format("the batch size cannot ramp up from {} to {}", ramp.start, ramp.size),
                      "it starts below the global batch size");
  const std::int64_t increments = (ramp.size - ramp.start) / ramp.increment;
  if ((ramp.size - ramp.start) % ramp.increment != 0)
    throw usage_error(
        format("from a batch of {} samples, increments of {} do not lead to {}", ramp.start, ramp.increment,
               ramp.size),
        format("the increment divides {} - {} = {}", ramp.size, ramp.start, ramp.size - ramp.start));
  if (increments >= kMostPhases)
    throw usage_error(format("a ramp-up in {} increments; the limit is {}", increments, kMostPhases - 1));
  if (ramp.start < ramp.multiple_of)
    throw usage_error(
        format("a batch of {} samples is less than one micro-batch on each data-parallel rank, "
               "which takes {}",
               ramp.start, ramp.multiple_of));

  const double per_increment = static_cast<double>(ramp.samples) / static_cast<double>(increments);
  BatchSchedule schedule;
  schedule.kind_ = Kind::kRampUp;
  schedule.ramp_samples_ = ramp.samples;
  schedule.follow({.number_at =
                       [=](std::int64_t consumed) {
                         if (consumed > ramp.samples || increments == 0 || ramp.samples == 0)
                           return increments;
                         return static_cast<std::int64_t>(static_cast<double>(consumed) / per_increment);
                       },
                   .size =
                       [=](std::int64_t number) {
                         const std::int64_t size = ramp.start + number * ramp.increment;
                         return size / ramp.multiple_of * ramp.multiple_of;
                       },
                   .last = increments});
  return schedule;
}

BatchSchedule BatchSchedule::stepwise(std::span<const Change> changes) {
  if (changes.empty()) throw usage_error("a schedule of batch sizes without a size");
  if (static_cast<std::int64_t>(changes.size()) > kMostPhases)
    throw usage_error(format("{} batch sizes; the limit is {}", changes.size(), kMostPhases));
  if (changes.front().from_samples != 0)
    throw usage_error(format("the first batch size is from {} samples on", changes.front().from_samples),
                      "it has to be from 0 on");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    check_size(changes[i].size);
    if (changes[i].from_samples > kMostSamples)
      throw usage_error(
          format("a batch size from {} samples on: the limit is {}", changes[i].from_samples, kMostSamples));
    if (i > 0 && changes[i].from_samples <= changes[i - 1].from_samples)
      throw usage_error(format("a batch size from {} samples on comes after one from {} on",
                               changes[i].from_samples, changes[i - 1].from_samples),
                        "the numbers have to increase");
  }
  BatchSchedule schedule;
  schedule.kind_ = Kind::kStepwise;
  schedule.follow(
      {.number_at =
           [&](std::int64_t consumed) {
             const auto after = std::ranges::upper_bound(changes, consumed, {}, &Change::from_samples);
             return static_cast<std::int64_t>(after - changes.begin()) - 1;
           },
       .size = [&](std::int64_t number) { return changes[static_cast<std::size_t>(number)].size; },
       .last = static_cast<std::int64_t>(changes.size()) - 1});
  return schedule;
}

void BatchSchedule::follow(const Rule& rule) {
  std::int64_t step = 1, consumed = 0;
  while (true) {
    const std::int64_t number = rule.number_at(consumed);
    const std::int64_t size = rule.size(number);
    if (phases_.empty() || phases_.back().size != size)
      phases_.push_back({.first_step = step, .first_sample = consumed, .size = size});
    if (number == rule.last) return;
    // The fewest steps after which the number is another. It changes once and for all, so halving finds it.
    const auto changed = [&](std::int64_t steps) { return rule.number_at(consumed + steps * size) > number; };
    std::int64_t low = 0, high = 1;  // `low` steps are too few
    while (!changed(high)) low = high, high *= 2;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (changed(middle) ? high : low) = middle;
    }
    step += high;
    consumed += high * size;
  }
}

std::int64_t BatchSchedule::largest() const {
  return std::ranges::max_element(phases_, {}, &Phase::size)->size;
}

const BatchSchedule::Phase& BatchSchedule::phase_of(std::int64_t step) const {
  check(step >= 1, "steps are counted from 1");
  const auto after = std::ranges::upper_bound(phases_, step, {}, &Phase::first_step);
  return *(after - 1);
}

std::int64_t BatchSchedule::size_of(std::int64_t step) const {
  return phase_of(step).size;
}

std::int64_t BatchSchedule::samples_before(std::int64_t step) const {
  const Phase& phase = phase_of(step);
  const std::int64_t samples = checked_multiply(step - phase.first_step, phase.size, "samples");
  return sum_of(phase.first_sample, samples);
}

std::int64_t BatchSchedule::steps_from(std::int64_t step, std::int64_t samples) const {
  const std::int64_t end = sum_of(samples_before(step), samples);  // to which samples are consumed
  const auto after = std::ranges::lower_bound(phases_, end, {}, &Phase::first_sample);
  const Phase& phase = after == phases_.begin() ? *after : *(after - 1);
  return phase.first_step + divided_up(end - phase.first_sample, phase.size) - step;
}

std::int64_t BatchSchedule::steps_of_samples(std::int64_t samples) const {
  const Phase& last = phases_.back();
  switch (is_constant() ? Kind::kConstant : kind_) {
    case Kind::kConstant:
      return samples / last.size;
    case Kind::kRampUp: {
      // Those that begin at or before the limit: together they are the first to pass it.
      const std::int64_t limit = std::min(samples, ramp_samples_);
      const std::int64_t ramp = steps_from(1, limit + 1);
      const std::int64_t consumed = samples_before(ramp + 1);
      return ramp + (samples > consumed ? (samples - consumed) / last.size : 0);
    }
    case Kind::kStepwise:
      return steps_from(1, samples);
  }
  unreachable();
}

std::int64_t BatchSchedule::steps_of_epochs(std::int64_t samples_per_epoch, std::int64_t epochs) const {
  std::int64_t done = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::int64_t steps = steps_from(done + 1, samples_per_epoch);
    if (done + 1 >= phases_.back().first_step)  // from here on all epochs are alike
      return sum_of(done, checked_multiply(steps, epochs - epoch, "steps"));
    done += steps;
  }
  return done;
}

BatchSchedule::Position BatchSchedule::position_after(std::int64_t steps,
                                                      std::int64_t samples_per_epoch) const {
  Position position{.step_in_epoch = steps};
  std::int64_t done = 0;
  while (true) {
    const std::int64_t whole = steps_from(done + 1, samples_per_epoch);
    if (position.step_in_epoch < whole) return position;
    const bool alike = done + 1 >= phases_.back().first_step;
    const std::int64_t epochs = alike ? position.step_in_epoch / whole : 1;
    position.epoch += epochs;
    position.step_in_epoch -= epochs * whole;
    done += epochs * whole;
  }
}

}  // namespace nadi::inline runs
