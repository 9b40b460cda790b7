#include "nadi/megatron/schedule.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/megatron_flags.h"

namespace nadi::inline show {
namespace {

class Resolver {
 public:
  Resolver(const Flags& flags, const BatchSchedule& batches)
      : flags_(flags), batches_(batches), in_samples_(uses_megatron_flags(flags)) {}

  TrainSchedule run() {
    resolve_steps();
    LearningRate& rate = schedule_.learning_rate;
    rate.unit = in_samples_ ? ScheduleUnit::kSamples : ScheduleUnit::kSteps;
    rate.late_warmup = in_samples_;
    rate.peak = flags_.number(given_name(flags_, "--learning-rate")).value_or(rate.peak);
    if (const auto choice = flags_.choice(given_name(flags_, "--lr-scheduler")))
      rate.decay = decays()[*choice].decay;
    rate.minimum = flags_.number("--min-lr").value_or(rate.minimum);
    rate.start = flags_.number("--lr-warmup-init").value_or(rate.start);
    for (const auto& [flag, value] : {std::pair{"--min-lr", rate.minimum}, {"--lr-warmup-init", rate.start}})
      if (value > rate.peak)
        throw usage_error(format("{} {} is above the learning rate's peak of {}", flag, value, rate.peak));
    rate.decay_end = length("--lr-decay-iters", "--lr-decay-samples").value_or(rate.decay_end);
    resolve_warmup(rate);
    resolve_stable_decay(rate);
    resolve_weight_decay();
    return schedule_;
  }

 private:
  // A length in the unit of the schedule, given in steps, or in samples under another flag.
  std::optional<double> length(std::string_view steps_flag, std::string_view samples_flag) const {
    const std::string_view name = given_name(flags_, steps_flag);
    const auto steps = flags_.integer(name, 0);
    const auto samples = flags_.integer(samples_flag, 0);
    if (steps && samples) throw usage_error(format("{} and {} contradict each other", name, samples_flag));
    if (samples) return static_cast<double>(*samples);  // a flag of Megatron's: so the unit is samples
    if (!steps) return std::nullopt;
    return static_cast<double>(*steps) * (in_samples_ ? static_cast<double>(batches_.largest()) : 1);
  }

  void resolve_steps() {
    const std::string_view name = given_name(flags_, "--max-steps");
    const auto steps = flags_.integer(name);
    const auto samples = flags_.integer("--train-samples");
    if (steps && samples) throw usage_error(format("{} and --train-samples contradict each other", name));
    schedule_.max_steps = steps.value_or(0);
    if (!samples) return;
    schedule_.max_steps = batches_.steps_of_samples(*samples);
    schedule_.learning_rate.total = static_cast<double>(*samples);
    if (schedule_.max_steps == 0)
      throw usage_error(
          format("--train-samples {} are not even one global batch of {}", *samples, batches_.size_of(1)));
  }

  void resolve_warmup(LearningRate& rate) const {
    const auto given = length("--warmup-steps", "--lr-warmup-samples");
    rate.warmup = given.value_or(rate.warmup);
    const auto fraction = flags_.number("--lr-warmup-fraction", 1);
    if (!fraction) return;
    if (given.value_or(0) > 0)
      throw usage_error("--lr-warmup-fraction and a number of steps for the warm-up contradict each other");
    const double whole = rate.decay_end > 0 ? rate.decay_end : total();
    if (whole == 0)
      throw usage_error("--lr-warmup-fraction of what: the number of steps is not known",
                        "give --train-iters or --lr-decay-iters");
    rate.warmup = *fraction * whole;
  }

  // The length of the run, in samples; 0 when it is not known yet.
  double total() const {
    if (schedule_.learning_rate.total > 0) return schedule_.learning_rate.total;
    return static_cast<double>(schedule_.max_steps) * static_cast<double>(batches_.largest());
  }

  void resolve_stable_decay(LearningRate& rate) const {
    constexpr std::string_view kLength = "--lr-wsd-decay-iters", kStyle = "--lr-wsd-decay-style";
    if (const auto choice = flags_.choice(kStyle)) rate.stable_decay = static_cast<StableDecay>(*choice);
    rate.stable_decay_length = length(kLength, "--lr-wsd-decay-samples").value_or(0);
    if (rate.decay == Decay::kWarmupStableDecay && rate.stable_decay_length == 0)
      throw usage_error(format("a learning rate of style {} needs {} or --lr-wsd-decay-samples",
                               to_string(rate.decay), kLength),
                        "it says how long before the end the learning rate begins to fall");
  }

  void resolve_weight_decay() {
    constexpr std::string_view kStart = "--start-weight-decay", kEnd = "--end-weight-decay",
                               kStyle = "--weight-decay-incr-style";
    const auto growth = static_cast<WeightDecayGrowth>(flags_.choice(kStyle).value_or(0));
    const auto start = flags_.number(kStart), end = flags_.number(kEnd);
    if (growth == WeightDecayGrowth::kConstant) {
      if (start || end)
        throw usage_error(format("{} needs {}", start ? kStart : kEnd, kStyle),
                          "linear or cosine; a weight decay that stays is --weight-decay");
      return;
    }
    if (!start || !end) throw usage_error(format("{} needs {} and {}", kStyle, kStart, kEnd));
    if (*start > *end) throw usage_error(format("{} {} is above {} {}", kStart, *start, kEnd, *end));
    schedule_.weight_decay = {.growth = growth, .start = *start, .end = *end};
  }

  const Flags& flags_;
  const BatchSchedule& batches_;
  const bool in_samples_;
  TrainSchedule schedule_;
};

}  // namespace

TrainSchedule resolve_schedule(const Flags& flags, const BatchSchedule& batches) {
  return Resolver(flags, batches).run();
}

}  // namespace nadi::inline show
