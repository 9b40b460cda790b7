#include "nadi/train/run_state.h"

#include <algorithm>
#include <map>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {
namespace {

constexpr const char* kSkippedSteps = "skipped_steps";
constexpr const char* kAccumulation = "gradient_accumulation_steps";
constexpr const char* kDataParallel = "data_parallel_ranks";
constexpr const char* kSamples = "train_samples";
constexpr const char* kTokens = "train_tokens";
// Files of earlier versions do not have the counters below: there they are 0.
constexpr const char* kSkippedSamples = "skipped_samples";
// Updates and samples of the optimizer before this one, where a run went on with a fresh optimizer.
constexpr const char* kEarlierUpdates = "updates_of_earlier_optimizer";
constexpr const char* kEarlierSamples = "samples_of_earlier_optimizer";
// Samples of all steps, each step with its full size: tells whether the batch sizes have changed.
constexpr const char* kScheduledSamples = "scheduled_samples";

// A training state names types as to_string(DType) does; users write "fp32".
std::string user_name(const std::string& dtype) {
  for (const auto& [name, type] : kDTypes)
    if (to_string(type) == dtype) return std::string(name);
  return dtype;
}

std::map<std::string, double> settings_of(const OptimizerOptions& optimizer) {
  return {{"beta1", optimizer.beta1},
          {"beta2", optimizer.beta2},
          {"epsilon", optimizer.epsilon},
          {"momentum", optimizer.momentum},
          {"weight_decay", optimizer.weight_decay},
          {"max_grad_norm", optimizer.max_grad_norm}};
}

std::map<std::string, double> settings_of(const LearningRate& rate) {
  return {{"peak", rate.peak},
          {"minimum", rate.minimum},
          {"start", rate.start},
          {"in_samples", rate.unit == ScheduleUnit::kSamples ? 1 : 0},
          {"warmup", rate.warmup},
          {"decay_end", rate.decay_end},
          {"total", rate.total},
          {"stable_decay_length", rate.stable_decay_length},
          {"stable_decay", static_cast<double>(rate.stable_decay)},
          {"late_warmup", rate.late_warmup ? 1 : 0}};
}

// The inverse. Error (input) at `file` for unknown names and for numbers that are out of range.
LearningRate learning_rate_from(const std::string& decay, const std::map<std::string, double>& settings,
                                const std::string& file) {
  const auto value = [&](const char* name) {
    const auto found = settings.find(name);
    if (found == settings.end())
      throw input_error({.file = file}, format("'schedule_settings' has no '{}'", name),
                        "continue with a new schedule");
    return found->second;
  };
  const auto entry = std::ranges::find(decays(), decay, &DecayEntry::name);
  const double stable = value("stable_decay");
  if (entry == decays().end() || !(stable >= 0 && stable < static_cast<double>(stable_decay_names().size())))
    throw input_error({.file = file}, format("unknown schedule '{}' of kind {}", decay, stable));
  return {.decay = entry->decay,
          .peak = value("peak"),
          .minimum = value("minimum"),
          .start = value("start"),
          .unit = value("in_samples") != 0 ? ScheduleUnit::kSamples : ScheduleUnit::kSteps,
          .warmup = value("warmup"),
          .decay_end = value("decay_end"),
          .total = value("total"),
          .stable_decay_length = value("stable_decay_length"),
          .stable_decay = static_cast<StableDecay>(static_cast<int>(stable)),
          .late_warmup = value("late_warmup") != 0 || value("in_samples") != 0};
}

}  // namespace

RunState::RunState(const TrainOptions& options, const BatchSchedule& batches, const BatchSource& data)
    : options_(options), batches_(batches), data_(data), rate_(options.optimizer.learning_rate) {
  total_steps_ =
      options.max_steps > 0 ? options.max_steps : batches.steps_of_epochs(data.samples(), options.epochs);
  if (rate_.total == 0)
    rate_.total = static_cast<double>(total_steps_) *
                  (rate_.unit == ScheduleUnit::kSamples ? static_cast<double>(batches.largest()) : 1);
  state_ = fresh_state();
}

TrainingState RunState::fresh_state() const {
  return {.seed = options_.seed,
          .dtype = std::string(to_string(options_.dtype)),
          .batch_size = options_.batch_size,
          .max_seq_length = options_.seq_length,
          .optimizer = std::string(to_string(options_.optimizer.kind)),
          .optimizer_settings = settings_of(options_.optimizer),
          .schedule = std::string(to_string(rate_.decay)),
          .schedule_settings = settings_of(rate_),
          .counters = {{kSkippedSteps, 0},
                       {kAccumulation, options_.accumulation},
                       {kDataParallel, options_.plan.dp},
                       {kSamples, data_.samples()},
                       {kTokens, data_.tokens()},
                       {kSkippedSamples, 0},
                       {kEarlierUpdates, 0},
                       {kEarlierSamples, 0},
                       {kScheduledSamples, 0}}};
}

void RunState::resume(TrainListener& listener) {
  go_on_from(read_training_state(options_.resume_from), (options_.resume_from / kTrainingStateFile).string(),
             listener);
}

void RunState::resume(const TrainingProgress& progress, FileDType dtype, TrainListener& listener) {
  const std::string file = options_.resume_from.string();
  if (progress.own) return go_on_from(*progress.own, file, listener);
  if (!progress.adam && options_.resume_optimizer)
    throw input_error({.file = file}, "the checkpoint has no optimizer state",
                      "go on with a fresh optimizer, or start a new run from its weights");
  go_on_from(state_of(progress, dtype, file), file, listener);
}

TrainingState RunState::state_of(const TrainingProgress& progress, FileDType dtype,
                                 const std::string& file) const {
  TrainingState saved = state_;
  const auto setting = [&](const char* name) -> std::optional<double> {
    const auto found = progress.settings.find(name);
    return found == progress.settings.end() ? std::nullopt : std::optional(found->second);
  };
  saved.step = progress.iteration;
  saved.samples_seen = progress.samples;
  const auto [epoch, steps] = batches_.position_after(saved.step, data_.samples());
  saved.epoch = epoch;
  saved.batch_in_epoch = steps;
  if (const auto seed = setting("seed")) saved.seed = static_cast<std::uint64_t>(*seed);
  for (const auto& [name, type] : kDTypes)
    if (file_dtype(type) == dtype) saved.dtype = std::string(to_string(type));
  if (const auto length = setting("seq_length")) saved.max_seq_length = static_cast<std::int64_t>(*length);
  if (const auto batch = setting("global_batch_size")) {
    saved.batch_size = static_cast<std::int64_t>(*batch);
    saved.counters[kAccumulation] = saved.counters[kDataParallel] = 1;
  }
  saved.counters[kScheduledSamples] = progress.samples;
  // Where the schedule stands says how many samples of skipped steps it was not moved on by.
  if (const auto& adam = progress.adam) {
    if (adam->updates > progress.iteration)
      throw input_error({.file = file},
                        format("{} updates in {} iterations", adam->updates, progress.iteration));
    saved.counters[kSkippedSteps] = progress.iteration - adam->updates;
    saved.optimizer_settings["beta1"] = adam->beta1;
    saved.optimizer_settings["beta2"] = adam->beta2;
    saved.optimizer_settings["epsilon"] = adam->epsilon;
    saved.optimizer_settings["weight_decay"] = adam->weight_decay;
    if (const auto clip = setting("clip_grad")) saved.optimizer_settings["max_grad_norm"] = *clip;
    if (saved.optimizer != to_string(OptimizerKind::kAdam))
      saved.optimizer = to_string(OptimizerKind::kAdamW);
  }
  if (const auto& schedule = progress.schedule) {
    saved.counters[kSkippedSamples] = std::max<std::int64_t>(0, progress.samples - schedule->samples_done);
    saved.schedule = schedule->decay;
    auto& settings = saved.schedule_settings;
    settings["peak"] = schedule->max_rate;
    settings["minimum"] = schedule->min_rate;
    if (const auto start = setting("lr_warmup_init")) settings["start"] = *start;
    settings["in_samples"] = 1;
    settings["late_warmup"] = 1;
    settings["warmup"] = static_cast<double>(schedule->warmup_samples);
    // A decay that ends with the run is written so by us, and as its length by Megatron.
    const auto end = static_cast<double>(schedule->decay_samples);
    const bool at_the_end = settings["decay_end"] == 0 && end == settings["total"];
    if (!at_the_end) settings["decay_end"] = end;
  }
  return saved;
}

void RunState::go_on_from(TrainingState saved, const std::string& file, TrainListener& listener) {
  if (data_.has_as_many_as_wanted()) {  // its epochs may be longer now: a step is a batch
    const auto [epoch, steps] = batches_.position_after(saved.step, data_.samples());
    saved.epoch = epoch;
    saved.batch_in_epoch = steps;
  }
  const auto same = [&](const char* what, const auto& before, const auto& now) {
    if (before == now) return;
    throw usage_error(format("{}: the run was started with {} {}, not {}", file, what, before, now),
                      "continue with the settings of the run, or start a new run from its weights");
  };
  same("seed", saved.seed, state_.seed);
  same("data type", user_name(saved.dtype), user_name(state_.dtype));
  same("sequence length", saved.max_seq_length, state_.max_seq_length);
  same("optimizer", saved.optimizer, state_.optimizer);
  const auto counter = [&](const char* name) {
    const auto found = saved.counters.find(name);
    if (found == saved.counters.end())
      throw input_error({.file = file}, format("'counters' has no '{}'", name));
    return found->second;
  };
  const auto ranks = saved.counters.find(kDataParallel);
  const std::int64_t saved_ranks = ranks == saved.counters.end() ? 1 : ranks->second;
  const std::int64_t saved_batch = saved.batch_size * counter(kAccumulation) * saved_ranks;
  if (saved_batch != batches_.largest())
    throw usage_error(
        format("{}: the run was started with steps of {} samples (batch size {} x {} accumulation steps x {} "
               "data-parallel ranks), not {} ({} x {} x {})",
               file, saved_batch, saved.batch_size, counter(kAccumulation), saved_ranks, batches_.largest(),
               options_.batch_size, options_.accumulation, options_.plan.dp),
        "continue with the same number of samples in a step, however they are split");
  saved.counters.try_emplace(kSkippedSamples, counter(kSkippedSteps) * saved_batch);
  const auto scheduled = saved.counters.find(kScheduledSamples);
  const std::int64_t consumed =
      scheduled == saved.counters.end() ? saved.step * saved_batch : scheduled->second;
  if (consumed != batches_.samples_before(saved.step + 1))
    throw usage_error(
        format("{}: the run consumed {} samples in {} steps; with these batch sizes it would have been {}",
               file, consumed, saved.step, batches_.samples_before(saved.step + 1)),
        "continue with the batch sizes that the run was started with");
  if (options_.schedule_on_resume == ScheduleOnResume::kOfCheckpoint) {
    rate_ = learning_rate_from(saved.schedule, saved.schedule_settings, file);
    state_.schedule = saved.schedule;
    state_.schedule_settings = settings_of(rate_);
  }
  if (options_.schedule_on_resume == ScheduleOnResume::kNewWithNote &&
      (saved.schedule != state_.schedule || saved.schedule_settings != state_.schedule_settings ||
       saved.optimizer_settings != state_.optimizer_settings))
    listener.note(
        "the settings of optimizer or learning rate are not those that the run was started with: it goes "
        "on with the new ones");
  if (batches_.is_constant())
    data_.check_position({.epoch = saved.epoch, .batch = saved.batch_in_epoch}, {.file = file});
  else if (saved.batch_in_epoch > saved.step || saved.batch_in_epoch < 0 ||
           consumed - batches_.samples_before(saved.step + 1 - saved.batch_in_epoch) >= data_.samples())
    throw input_error({.file = file},
                      format("step {} of epoch {} does not exist: an epoch has {} samples",
                             saved.batch_in_epoch, saved.epoch, data_.samples()),
                      "continue with the data that the run was started with");
  // Other data, or another tokenizer: a position in it would mean something else.
  if (!data_.has_as_many_as_wanted())
    same("training samples:", counter(kSamples), data_.samples());
  else if (counter(kSamples) != data_.samples())
    listener.note(format("the run was started for {} samples and goes on for {}: their order is another",
                         counter(kSamples), data_.samples()));
  same("training tokens:", counter(kTokens), data_.tokens());
  const TrainingState fresh = std::move(state_);
  state_ = saved;
  state_.batch_size = fresh.batch_size;
  for (const char* name : {kAccumulation, kDataParallel, kSamples})
    state_.counters[name] = fresh.counters.at(name);
  state_.schedule = fresh.schedule;
  state_.schedule_settings = fresh.schedule_settings;
  state_.optimizer_settings = fresh.optimizer_settings;
  if (options_.resume_optimizer) return;
  state_.counters[kEarlierUpdates] = state_.step - skipped();
  state_.counters[kEarlierSamples] = consumed - counted(kSkippedSamples);
}

std::int64_t RunState::counted(const char* name) const {
  const auto found = state_.counters.find(name);
  return found == state_.counters.end() ? 0 : found->second;
}

std::int64_t RunState::skipped() const {
  return state_.counters.at(kSkippedSteps);
}

std::int64_t RunState::updates() const {
  return state_.step - skipped() - counted(kEarlierUpdates);
}

std::int64_t RunState::schedule_position() const {
  return schedule_position(state_.step + 1);
}

std::int64_t RunState::schedule_position(std::int64_t step) const {
  if (rate_.unit == ScheduleUnit::kSteps) return step - 1 - skipped() - counted(kEarlierUpdates);
  return batches_.samples_before(step) - counted(kSkippedSamples) - counted(kEarlierSamples);
}

std::int64_t RunState::schedule_advance() const {
  return rate_.unit == ScheduleUnit::kSteps ? 1 : batch_size();
}

std::int64_t RunState::samples_of_epoch() const {
  return batches_.samples_before(state_.step + 1) -
         batches_.samples_before(state_.step + 1 - state_.batch_in_epoch);
}

RunState::Position RunState::next_position() const {
  if (epoch_ends()) return {.epoch = epoch() + 1, .samples = 0};
  return {.epoch = epoch(), .samples = samples_of_epoch()};
}

std::optional<double> RunState::epoch_loss() const {
  if (state_.epoch_tokens == 0) return std::nullopt;
  return state_.epoch_loss_sum / static_cast<double>(state_.epoch_tokens);
}

double RunState::learning_rate(std::int64_t step) const {
  return learning_rate_at(rate_, static_cast<double>(schedule_position(step)));
}

OptimizerOptions RunState::optimizer() const {
  OptimizerOptions optimizer = options_.optimizer;
  optimizer.learning_rate = rate_;
  if (optimizer.weight_decay_schedule) optimizer.weight_decay_schedule->length = rate_.total;
  return optimizer;
}

void RunState::finish_step(std::int64_t samples) {
  ++state_.step;
  ++state_.batch_in_epoch;
  state_.samples_seen += samples;
  state_.counters[kScheduledSamples] = batches_.samples_before(state_.step + 1);
}

void RunState::skip_update(std::int64_t samples) {
  ++state_.counters[kSkippedSteps];
  state_.counters[kSkippedSamples] += samples;
}

void RunState::add_loss(double loss, std::int64_t tokens) {
  state_.epoch_loss_sum += loss * static_cast<double>(tokens);
  state_.epoch_tokens += tokens;
}

void RunState::finish_epoch() {
  ++state_.epoch;
  state_.batch_in_epoch = 0;
  state_.epoch_loss_sum = 0;
  state_.epoch_tokens = 0;
}

}  // namespace nadi::inline runs
