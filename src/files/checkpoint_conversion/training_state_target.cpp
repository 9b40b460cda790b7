#include "nadi/checkpoint_conversion/training_state_target.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint_conversion/hugging_face_target.h"

namespace nadi::inline files {
namespace {

template <typename T>
WholeTensorToWrite scalar_tensor(std::string name, FileDType dtype, T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return {.name = std::move(name), .dtype = dtype, .shape = {}, .bytes = std::move(bytes)};
}

double setting_of(const TrainingProgress& progress, const char* name, double fallback) {
  const auto found = progress.settings.find(name);
  return found == progress.settings.end() ? fallback : found->second;
}

// Counters and metrics of a step, as a graph with an optimizer has them (graph/optimizer.h).
void add_scalars(std::vector<WholeTensorToWrite>& tensors, const TrainingProgress& progress) {
  const std::int64_t updates = progress.adam ? progress.adam->updates : progress.iteration;
  const std::int64_t position = progress.schedule ? progress.schedule->samples_done : progress.samples;
  tensors.push_back(scalar_tensor("updates", FileDType::kI64, updates));
  tensors.push_back(scalar_tensor("schedule_position", FileDType::kI64, position));
  tensors.push_back(scalar_tensor("skipped_updates", FileDType::kI64,
                                  std::max<std::int64_t>(0, progress.iteration - updates)));
  tensors.push_back(scalar_tensor("grad_norm", FileDType::kF32, 0.0F));
  tensors.push_back(scalar_tensor("loss", FileDType::kF32, 0.0F));
  if (!progress.loss_scale) return;
  tensors.push_back(scalar_tensor("loss_scale", FileDType::kF32, static_cast<float>(*progress.loss_scale)));
  tensors.push_back(scalar_tensor("loss_scale.good_steps", FileDType::kF32, 0.0F));
}

}  // namespace

TrainingState state_of_training(const TrainingProgress& progress, FileDType weights) {
  if (progress.own) return *progress.own;
  TrainingState state;
  state.step = progress.iteration;
  state.samples_seen = progress.samples;
  state.seed = static_cast<std::uint64_t>(setting_of(progress, "seed", 0));
  state.dtype = to_string(weights == FileDType::kBF16  ? DType::kBF16
                          : weights == FileDType::kF16 ? DType::kF16
                                                       : DType::kF32);
  state.batch_size = static_cast<std::int64_t>(setting_of(progress, "global_batch_size", 1));
  state.max_seq_length = static_cast<std::int64_t>(setting_of(progress, "seq_length", 0));
  state.optimizer = "adamw";
  const AdamNumbers adam = progress.adam.value_or(AdamNumbers{});
  state.optimizer_settings = {{"beta1", adam.beta1},
                              {"beta2", adam.beta2},
                              {"epsilon", adam.epsilon},
                              {"weight_decay", adam.weight_decay},
                              {"max_grad_norm", setting_of(progress, "clip_grad", 0)}};
  // Without a schedule the rate stays that of the last update.
  const ScheduleNumbers schedule = progress.schedule.value_or(
      ScheduleNumbers{.max_rate = adam.rate, .min_rate = adam.rate, .decay = "constant"});
  state.schedule = schedule.decay;
  state.schedule_settings = {{"peak", schedule.max_rate},
                             {"minimum", schedule.min_rate},
                             {"start", setting_of(progress, "lr_warmup_init", 0)},
                             {"in_samples", 1},
                             {"warmup", static_cast<double>(schedule.warmup_samples)},
                             {"decay_end", static_cast<double>(schedule.decay_samples)},
                             {"total", static_cast<double>(schedule.decay_samples)},
                             {"stable_decay", 0},
                             {"stable_decay_length", 0},
                             {"late_warmup", 1}};
  const std::int64_t updates = progress.adam ? progress.adam->updates : progress.iteration;
  state.counters = {{"skipped_steps", std::max<std::int64_t>(0, progress.iteration - updates)},
                    {"gradient_accumulation_steps", 1},
                    {"data_parallel_ranks", 1},
                    {"skipped_samples", std::max<std::int64_t>(0, progress.samples - schedule.samples_done)},
                    {"scheduled_samples", progress.samples}};
  return state;
}

std::vector<TargetFile> training_state_files(const WholeModel& model, FileDType weights,
                                             std::int64_t vocabulary) {
  const std::vector<WholeTensorToWrite> saved = optimizer_state_to_write(model, vocabulary);
  if (!model.progress() || saved.empty())
    throw usage_error("the source has weights alone, and a checkpoint of nadi train needs optimizer state",
                      "write a Hugging Face folder, from which a training can start");
  std::vector<WholeTensorToWrite> tensors = saved;
  if (!model.progress()->own) add_scalars(tensors, *model.progress());
  std::vector<TargetFile> files;
  files.push_back(safetensors_target(kTrainingTensorsFile, std::move(tensors)));
  const std::string text = training_state_json(state_of_training(*model.progress(), weights));
  files.push_back({.name = kTrainingStateFile,
                   .size = Bytes{static_cast<std::int64_t>(text.size())},
                   .ready = {{.offset = 0, .bytes = text}}});
  return files;
}

}  // namespace nadi::inline files
