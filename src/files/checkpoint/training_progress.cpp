#include "nadi/checkpoint/training_progress.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/learning_rate.h"

namespace nadi::inline files {
namespace {

double setting_or(const std::map<std::string, double>& settings, const char* name, double fallback) {
  const auto found = settings.find(name);
  return found == settings.end() ? fallback : found->second;
}

// A scalar of the file; nothing where it has none of that name.
template <typename T>
std::optional<T> scalar(const SafetensorsReader& tensors, const char* name, FileDType dtype) {
  const SafetensorsTensor* tensor = tensors.find(name);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype != dtype || tensor->shape.elements() != 1)
    throw input_error({.file = tensors.file()},
                      format("'{}' is {} {}, not one {}", name, to_string(tensor->dtype),
                             tensor->shape.to_string(), to_string(dtype)));
  T value{};
  tensors.read_bytes(*tensor, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

// Samples of a full step.
std::int64_t samples_of_step(const TrainingState& state) {
  const auto counter = [&](const char* name) {
    const auto found = state.counters.find(name);
    return found == state.counters.end() ? std::int64_t{1} : std::max<std::int64_t>(1, found->second);
  };
  return state.batch_size * counter("gradient_accumulation_steps") * counter("data_parallel_ranks");
}

// 0 for files of earlier versions, where they do not have it.
std::int64_t counted(const TrainingState& state, const char* name) {
  const auto found = state.counters.find(name);
  return found == state.counters.end() ? 0 : found->second;
}

// What the steps consumed, each with its full size, as Megatron counts: the last step of an epoch may have
// had less.
std::int64_t scheduled_samples(const TrainingState& state) {
  const std::int64_t counter = counted(state, "scheduled_samples");
  return counter > 0 ? counter : state.step * samples_of_step(state);
}

}  // namespace

TrainingProgress own_progress(const TrainingState& state, const SafetensorsReader& tensors) {
  TrainingProgress progress{.iteration = state.step, .samples = scheduled_samples(state), .own = state};
  progress.settings = {{"seed", static_cast<double>(state.seed)},
                       {"micro_batch_size", static_cast<double>(state.batch_size)},
                       {"global_batch_size", static_cast<double>(samples_of_step(state))},
                       {"seq_length", static_cast<double>(state.max_seq_length)}};
  if (const auto scale = scalar<float>(tensors, "loss_scale", FileDType::kF32)) progress.loss_scale = *scale;
  if (const auto found = state.optimizer_settings.find("max_grad_norm");
      found != state.optimizer_settings.end())
    progress.settings["clip_grad"] = found->second;

  // Lengths in samples, whatever the run counted in.
  const auto& numbers = state.schedule_settings;
  const bool in_samples = setting_or(numbers, "in_samples", 0) != 0;
  const double unit = in_samples ? 1 : static_cast<double>(samples_of_step(state));
  const auto samples = [&](double length) { return static_cast<std::int64_t>(std::llround(length * unit)); };
  const double total = setting_or(numbers, "total", 0), end = setting_or(numbers, "decay_end", 0);
  // Where the optimizer and its schedule stand: steps that changed nothing do not count, nor those of an
  // optimizer before this one.
  const std::int64_t updates =
      state.step - counted(state, "skipped_steps") - counted(state, "updates_of_earlier_optimizer");
  const std::int64_t position = in_samples ? scheduled_samples(state) - counted(state, "skipped_samples") -
                                                 counted(state, "samples_of_earlier_optimizer")
                                           : updates;
  const double decay = setting_or(state.optimizer_settings, "weight_decay", 0);
  progress.schedule = ScheduleNumbers{.max_rate = setting_or(numbers, "peak", 0),
                                      .min_rate = setting_or(numbers, "minimum", 0),
                                      .decay = state.schedule,
                                      .warmup_samples = samples(setting_or(numbers, "warmup", 0)),
                                      .decay_samples = samples(end > 0 ? end : total),
                                      .samples_done = samples(static_cast<double>(position)),
                                      .start_weight_decay = decay,
                                      .end_weight_decay = decay,
                                      .weight_decay_samples = samples(total)};
  if (state.optimizer != "adamw" && state.optimizer != "adam") return progress;

  LearningRate rate{.peak = setting_or(numbers, "peak", 0),
                    .minimum = setting_or(numbers, "minimum", 0),
                    .start = setting_or(numbers, "start", 0),
                    .unit = in_samples ? ScheduleUnit::kSamples : ScheduleUnit::kSteps,
                    .warmup = setting_or(numbers, "warmup", 0),
                    .decay_end = end,
                    .total = total,
                    .stable_decay_length = setting_or(numbers, "stable_decay_length", 0),
                    .late_warmup = setting_or(numbers, "late_warmup", 0) != 0 || in_samples};
  const auto entry = std::ranges::find(decays(), state.schedule, &DecayEntry::name);
  if (entry != decays().end()) rate.decay = entry->decay;
  progress.adam = AdamNumbers{.updates = updates,
                              .rate = learning_rate_at(rate, static_cast<double>(position)),
                              .beta1 = setting_or(state.optimizer_settings, "beta1", 0.9),
                              .beta2 = setting_or(state.optimizer_settings, "beta2", 0.999),
                              .epsilon = setting_or(state.optimizer_settings, "epsilon", 1e-8),
                              .weight_decay = decay};
  return progress;
}

}  // namespace nadi::inline files
