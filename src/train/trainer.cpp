#include "nadi/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/writable_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/data/batch_source.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/plan_groups.h"
#include "nadi/engine/cpu/cpu_engine.h"
#include "nadi/model/config_writer.h"
#include "nadi/parallel/step_check.h"
#include "nadi/parallel/step_program.h"
#include "nadi/train/agreement.h"
#include "nadi/train/event_file.h"
#include "nadi/train/rank_clock.h"
#include "nadi/train/run_lock.h"
#include "nadi/train/sharded_state.h"
#include "nadi/train/step_inputs.h"
#include "nadi/unroll/plan_metadata.h"
#include "nadi/unroll/process_groups.h"

namespace nadi {
namespace {

constexpr const char* kSkippedSteps = "skipped_steps";
constexpr const char* kAccumulation = "gradient_accumulation_steps";
constexpr const char* kDataParallel = "data_parallel_ranks";
constexpr const char* kSamples = "train_samples";
constexpr const char* kTokens = "train_tokens";
// The rest is missing in files of earlier versions, where it is 0.
constexpr const char* kSkippedSamples = "skipped_samples";
// What an earlier optimizer of the run had done, of which this one knows nothing.
constexpr const char* kEarlierUpdates = "updates_of_earlier_optimizer";
constexpr const char* kEarlierSamples = "samples_of_earlier_optimizer";
// What steps consumed, each counted with its full size: tells whether batch sizes are those of before.
constexpr const char* kScheduledSamples = "scheduled_samples";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Nanoseconds wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

std::int64_t sum(const std::vector<std::int32_t>& values, std::int64_t count) {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += values[i];
  return total;
}

// What the flag calls a type that a training state names as to_string(DType) does.
std::string flag_value(const std::string& dtype) {
  return dtype == "f32" ? "fp32" : dtype == "f16" ? "fp16" : dtype;
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

// The other way round. Error (input) at `file` for names and numbers that are none.
LearningRate learning_rate_from(const std::string& decay, const std::map<std::string, double>& settings,
                                const std::string& file) {
  const auto value = [&](const char* name) {
    const auto found = settings.find(name);
    if (found == settings.end())
      throw input_error({.file = file}, format("'schedule_settings' has no '{}'", name),
                        "go on with the schedule of the command line");
    return found->second;
  };
  const auto entry = std::ranges::find(decays(), decay, &DecayEntry::name);
  const double stable = value("stable_decay");
  if (entry == decays().end() || !(stable >= 0 && stable < static_cast<double>(stable_decay_names().size())))
    throw input_error({.file = file}, format("a schedule '{}' of kind {} is not known", decay, stable));
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

Plan with_micro_batches(Plan plan, std::int64_t micro_batches) {
  plan.micro_batches = micro_batches;
  return plan;
}

StepRequest training_request(const TrainOptions& options, std::int64_t micro_batches) {
  return {.kind = StepKind::kTrain,
          .batch_size = options.batch_size * micro_batches,
          .micro_batches = micro_batches,
          .seq_length = options.seq_length,
          .dtype = options.dtype,
          .fused_attention = options.fused_attention,
          .recompute = options.recompute,
          .optimizer = options.optimizer,
          .keeps_gradients = options.batches.has_value() && !options.batches->is_constant(),
          .bucket_elements = options.bucket_elements};
}

StepRequest evaluation_request(const TrainOptions& options) {
  return {.kind = StepKind::kEvaluate,
          .batch_size = options.batch_size,
          .seq_length = options.seq_length,
          .dtype = options.dtype,
          .fused_attention = options.fused_attention};
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const TrainData& data, Communicator& world, TrainListener& listener)
      : options_(options),
        data_(data),
        world_(world),
        listener_(listener),
        plan_(with_micro_batches(options.plan, options.accumulation)),
        groups_(world, plan_),
        place_(coordinates_of(plan_, world.rank())),
        agreement_(world),
        batches_(options.batches
                     ? *options.batches
                     : BatchSchedule::constant(options.batch_size * options.accumulation * plan_.dp)),
        request_(training_request(options, options.accumulation)),
        micro_batches_(options.accumulation),
        program_(build_step(options.config, request_, plan_, place_.pp)),
        evaluation_program_(
            build_step(options.config, evaluation_request(options), with_micro_batches(plan_, 1), place_.pp)),
        engine_({.threads = options.threads,
                 .groups = world.size() > 1 ? &groups_ : nullptr,
                 .slowdown = options.slowdown}),
        state_files_(engine_, world, {.config = options.config, .plan = plan_, .request = request_}) {
    check_batches();
    if (options.trace) start_recorder();
    total_steps_ = options.max_steps > 0 ? options.max_steps
                                         : batches_.steps_of_epochs(data.train.samples(), options.epochs);
    rate_ = options.learning_rate;
    if (rate_.total == 0)
      rate_.total = static_cast<double>(total_steps_) *
                    (rate_.unit == ScheduleUnit::kSamples ? static_cast<double>(batches_.largest()) : 1);
  }

  TrainResult run(const std::function<bool()>& stop_asked) {
    prepare();
    world_.barrier(kWorld);  // from here on all ranks have something to save, or none
    listener_.started(state_.step, total_steps_);
    bool stop = false;
    while (state_.step < total_steps_ && !stop) {
      step();
      const bool epoch_ends = samples_of_epoch_done() >= data_.train.samples();
      const bool run_ends = state_.step == total_steps_;
      if (due(options_.eval_steps)) evaluate();
      if (epoch_ends || run_ends) end_epoch(epoch_ends);
      stop = agreement_.any(stop_asked());
      const bool save_due = options_.save_steps > 0 ? due(options_.save_steps) : epoch_ends;
      if (save_due || run_ends || stop) save();
    }
    result_.stopped = stop && state_.step < total_steps_;
    result_.steps = state_.step;
    result_.best_validation_loss = state_.best_validation_loss;
    result_.skipped_steps = skipped();
    // A window that the run was too short for still says what it saw.
    if (recorder_ && !recorder_->finished()) write_trace();
    return result_;
  }

 private:
  bool evaluates() const { return options_.evaluate && data_.validation != nullptr; }
  bool writes() const { return world_.rank() == Rank{0}; }  // files that all ranks share
  // One rank of those that read the same samples, so that what it counts is counted once.
  bool counts() const { return place_.tp == 0 && place_.cp == 0 && place_.pp == 0; }
  // A rank that has the loss.
  Rank last_stage() const { return rank_at(plan_, {.pp = plan_.pp - 1}); }
  bool has_loss() const { return place_.pp == plan_.pp - 1; }
  std::int64_t global_batch() const { return batches_.largest(); }
  // The rows of the epoch under way that its steps so far had.
  std::int64_t samples_of_epoch_done() const {
    return batches_.samples_before(state_.step + 1) -
           batches_.samples_before(state_.step + 1 - state_.batch_in_epoch);
  }
  std::int64_t counted(const char* name) const {
    const auto found = state_.counters.find(name);
    return found == state_.counters.end() ? 0 : found->second;
  }
  // Updates of this optimizer so far.
  std::int64_t updates() const { return state_.step - skipped() - counted(kEarlierUpdates); }
  // How far the schedules of learning rate and weight decay are, in their unit.
  double schedule_done() const {
    return static_cast<double>(rate_.unit == ScheduleUnit::kSteps
                                   ? updates()
                                   : batches_.samples_before(state_.step + 1) - counted(kSkippedSamples) -
                                         counted(kEarlierSamples));
  }
  bool due(std::int64_t every) const { return every > 0 && state_.step % every == 0; }
  std::int64_t skipped() const { return state_.counters.at(kSkippedSteps); }

  void prepare() {
    if (!options_.save_dir.empty() && writes()) {
      require_writable_folder(options_.save_dir);
      lock_.emplace(options_.save_dir);
      if (!lock_->held())
        listener_.note(format("the file system of {} has no locks: see to it that no other run saves there",
                              options_.save_dir.string()));
      config_json(options_.config);  // says now, not at the first checkpoint, when the file has no key for it
      if (options_.replace_checkpoints) replaced_ = find_checkpoints(options_.save_dir).checkpoints;
      if (const int removed = remove_stale_folders(options_.save_dir); removed > 0)
        listener_.note(format("removed {} unfinished folder{} that an earlier run left in {}", removed,
                              removed == 1 ? "" : "s", options_.save_dir.string()));
    }
    loaded_ = &engine_.load(program_);  // of the largest step, so that memory is enough for all
    if (evaluates()) evaluation_ = &engine_.load(evaluation_program_);
    const std::filesystem::path weights =
        options_.resume_from.empty() ? options_.init_from : options_.resume_from;
    if (!weights.empty()) {
      const std::vector<std::string> unused = state_files_.load_weights(weights);
      if (!unused.empty())
        listener_.note(format("{} tensors of {} are not part of the model and were left: '{}'{}",
                              unused.size(), weights.string(), unused.front(),
                              unused.size() > 1 ? ", ..." : ""));
    }
    state_ = fresh_state();
    if (!options_.resume_from.empty()) resume();
    check_trace_window();
    engine_.initialize(options_.seed);
    if (!options_.tensorboard_dir.empty() && writes())
      events_.emplace(EventFileOptions{.folder = options_.tensorboard_dir, .now = wall_clock});
  }

  TrainingState fresh_state() const {
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
                         {kDataParallel, plan_.dp},
                         {kSamples, data_.train.samples()},
                         {kTokens, data_.train.tokens()},
                         {kSkippedSamples, 0},
                         {kEarlierUpdates, 0},
                         {kEarlierSamples, 0},
                         {kScheduledSamples, 0}}};
  }

  void resume() {
    TrainingState saved = read_training_state(options_.resume_from);
    if (data_.train.has_as_many_as_wanted()) {  // its epochs may be longer now: a step is a batch
      const auto [epoch, steps] = batches_.position_after(saved.step, data_.train.samples());
      saved.epoch = epoch;
      saved.batch_in_epoch = steps;
    }
    const std::string file = (options_.resume_from / kTrainingStateFile).string();
    const auto same = [&](const char* what, const auto& before, const auto& now) {
      if (before == now) return;
      throw usage_error(format("{}: the run was started with {} {}, not {}", file, what, before, now),
                        "continue with what it was started with, or start a new run with --init-from");
    };
    same("--seed", saved.seed, state_.seed);
    same("--dtype", flag_value(saved.dtype), flag_value(state_.dtype));
    same("--max-seq-length", saved.max_seq_length, state_.max_seq_length);
    same("--optimizer", saved.optimizer, state_.optimizer);
    const auto counter = [&](const char* name) {
      const auto found = saved.counters.find(name);
      if (found == saved.counters.end())
        throw input_error({.file = file}, format("'counters' has no '{}'", name));
      return found->second;
    };
    const auto ranks = saved.counters.find(kDataParallel);
    const std::int64_t saved_ranks = ranks == saved.counters.end() ? 1 : ranks->second;
    const std::int64_t saved_batch = saved.batch_size * counter(kAccumulation) * saved_ranks;
    if (saved_batch != global_batch())
      throw usage_error(
          format("{}: the run was started with steps of {} samples (--batch-size {} x "
                 "--gradient-accumulation-steps {} x {} data-parallel ranks), not {} ({} x {} x {})",
                 file, saved_batch, saved.batch_size, counter(kAccumulation), saved_ranks, global_batch(),
                 options_.batch_size, options_.accumulation, plan_.dp),
          "continue with the same number of samples in a step, however they are split");
    saved.counters.try_emplace(kSkippedSamples, counter(kSkippedSteps) * saved_batch);
    const auto scheduled = saved.counters.find(kScheduledSamples);
    const std::int64_t consumed =
        scheduled == saved.counters.end() ? saved.step * saved_batch : scheduled->second;
    if (consumed != batches_.samples_before(saved.step + 1))
      throw usage_error(
          format("{}: the run consumed {} samples in {} steps; with these batch sizes it would have been {}",
                 file, consumed, saved.step, batches_.samples_before(saved.step + 1)),
          "continue with the --rampup-batch-size it was started with");
    if (options_.schedule_on_resume == ScheduleOnResume::kOfCheckpoint) {
      rate_ = learning_rate_from(saved.schedule, saved.schedule_settings, file);
      state_.schedule = saved.schedule;
      state_.schedule_settings = settings_of(rate_);
    }
    if (options_.schedule_on_resume == ScheduleOnResume::kNewWithNote &&
        (saved.schedule != state_.schedule || saved.schedule_settings != state_.schedule_settings ||
         saved.optimizer_settings != state_.optimizer_settings))
      listener_.note(
          "the settings of optimizer or learning rate are not those that the run was started with: it goes "
          "on with the new ones");
    if (batches_.is_constant())
      data_.train.check_position({.epoch = saved.epoch, .batch = saved.batch_in_epoch}, {.file = file});
    else if (saved.batch_in_epoch > saved.step || saved.batch_in_epoch < 0 ||
             consumed - batches_.samples_before(saved.step + 1 - saved.batch_in_epoch) >=
                 data_.train.samples())
      throw input_error({.file = file},
                        format("step {} of epoch {} does not exist: an epoch has {} samples",
                               saved.batch_in_epoch, saved.epoch, data_.train.samples()),
                        "continue with the data that the run was started with");
    // Other data, or another tokenizer: a position in it would mean something else.
    if (!data_.train.has_as_many_as_wanted())
      same("training samples:", counter(kSamples), data_.train.samples());
    else if (counter(kSamples) != data_.train.samples())
      listener_.note(format("the run was started for {} samples and goes on for {}: their order is another",
                            counter(kSamples), data_.train.samples()));
    same("training tokens:", counter(kTokens), data_.train.tokens());
    if (options_.resume_optimizer) state_files_.load_training_tensors(options_.resume_from);
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

  // Every size is a number of micro-batches on each data-parallel rank with which a program can be built.
  void check_batches() const {
    if (batches_.is_constant()) return;
    const std::int64_t least = options_.batch_size * plan_.dp;
    check(batches_.largest() == least * options_.accumulation, "accumulation is that of the largest step");
    for (const BatchSchedule::Phase& phase : batches_.phases()) {
      if (phase.size % least != 0)
        throw usage_error(
            format("a batch of {} samples, from step {} on, does not divide into micro-batches of {} on {} "
                   "data-parallel rank{}",
                   phase.size, phase.first_step, options_.batch_size, plan_.dp, plan_.dp == 1 ? "" : "s"),
            format("every size of the batch is a multiple of {} x {}", options_.batch_size, plan_.dp));
      const std::int64_t micro_batches = phase.size / least;
      check_plan(options_.config, training_request(options_, micro_batches),
                 with_micro_batches(plan_, micro_batches));
    }
  }

  // A trace is of one program.
  void check_trace_window() const {
    if (!recorder_ || batches_.is_constant()) return;
    const std::int64_t first = state_.step + options_.trace->wait + options_.trace->warmup + 1;
    const std::int64_t last = first + options_.trace->active - 1;
    if (batches_.size_of(first) == batches_.size_of(last)) return;
    throw usage_error(format("steps {} to {} are to be traced, and the batch grows from {} to {} samples in "
                             "between",
                             first, last, batches_.size_of(first), batches_.size_of(last)),
                      "trace steps with one batch size: see --trace-wait and --trace-active");
  }

  // The program of a step with so many micro-batches, in place of the one before.
  void use_micro_batches(std::int64_t micro_batches) {
    if (micro_batches == micro_batches_) return;
    engine_.unload(*loaded_);
    micro_batches_ = micro_batches;
    program_ = build_step(options_.config, training_request(options_, micro_batches),
                          with_micro_batches(plan_, micro_batches), place_.pp);
    loaded_ = &engine_.load(program_);
  }

  void step() {
    const double start = seconds_now();
    const std::int64_t size = batches_.size_of(state_.step + 1);
    use_micro_batches(size / (options_.batch_size * plan_.dp));
    if (recorder_) recorder_->set_metadata("batch_size", format("{}", size / plan_.dp));
    if (recorder_) recorder_->set_metadata("global_batch_size", format("{}", size));
    const RowRange rows{.epoch = state_.epoch, .first = samples_of_epoch_done(), .rows = size};
    StepScalars scalars{.seed = options_.seed,
                        .step = state_.step + 1,
                        .update_number = updates() + 1,
                        .learning_rate = learning_rate_at(rate_, schedule_done()),
                        .weight_decay_factor = weight_decay_factor()};
    std::int64_t tokens = 0, samples = 0;
    for (std::int64_t m = 0; m < micro_batches_; ++m) {
      const Part part{.rank = place_.dp * micro_batches_ + m, .ranks = plan_.dp * micro_batches_};
      const Batch batch = data_.train.batch_of(rows, part);
      set_batch(engine_, *loaded_, split_over_context(batch, plan_, place_.cp), m);
      set_random(engine_, *loaded_, scalars, m, part.rank * options_.batch_size);
      scalars.token_count += batch.tokens;
      samples += batch.samples;
      tokens += sum(batch.lengths, batch.samples);
    }
    scalars.token_count = agreement_.sum(counts() ? scalars.token_count : 0);
    samples = agreement_.sum(counts() ? samples : 0);
    tokens = agreement_.sum(counts() ? tokens : 0);
    set_step_scalars(engine_, *loaded_, scalars);
    const bool scaled = options_.dtype == DType::kF16;
    const float scale_before = scaled ? engine_.scalar("loss_scale") : 1;
    const double fed = seconds_now();
    const double forward_backward = run_program(recorder_ ? recorder_->begin_step(scalars.step) : nullptr);

    const double computed = seconds_now();
    ++state_.step;
    ++state_.batch_in_epoch;
    state_.samples_seen += samples;
    state_.counters[kScheduledSamples] = batches_.samples_before(state_.step + 1);
    StepReport report{.step = state_.step,
                      .total_steps = total_steps_,
                      .epoch = state_.epoch + 1,
                      .loss = agreement_.of(last_stage(), has_loss() ? engine_.scalar("loss") : 0),
                      .learning_rate = scalars.learning_rate,
                      .grad_norm = engine_.scalar("grad_norm"),
                      .tokens = tokens,
                      .global_batch = size,
                      .consumed_samples = state_.samples_seen,
                      .memory = engine_.allocated(),
                      .seconds = agreement_.maximum(seconds_now() - start)};
    if (options_.time_parts)
      report.parts = {{"batch-generator", agreement_.each(fed - start)},
                      {"forward-backward", agreement_.each(forward_backward)},
                      {"optimizer", agreement_.each(computed - fed - forward_backward)}};
    if (scaled) {
      report.loss_scale = engine_.scalar("loss_scale");
      // A scale of 1 does not go down any more: what overflows then is no matter of scale.
      report.skipped = !std::isfinite(report.grad_norm) && scale_before > 1;
      if (report.skipped) {
        ++state_.counters[kSkippedSteps];
        state_.counters[kSkippedSamples] += size;
      }
    }
    report.next_learning_rate = learning_rate_at(rate_, schedule_done());
    report.skipped_steps = skipped();
    if (!report.skipped) check_finite(report);
    if (std::isfinite(report.loss)) {
      state_.epoch_loss_sum += report.loss * static_cast<double>(scalars.token_count);
      state_.epoch_tokens += scalars.token_count;
      if (!result_.first_loss) result_.first_loss = report.loss;
      result_.last_loss = report.loss;
    }
    result_.tokens += tokens;
    result_.seconds += report.seconds;
    if (events_) {
      events_->scalar("train/loss", report.step, report.loss);
      events_->scalar("train/learning_rate", report.step, report.learning_rate);
      events_->scalar("train/grad_norm", report.step, report.grad_norm);
      events_->scalar("train/tokens_per_second", report.step, static_cast<double>(tokens) / report.seconds);
      if (report.loss_scale) events_->scalar("train/loss_scale", report.step, *report.loss_scale);
    }
    listener_.step(report);
    if (recorder_ && recorder_->end_step()) write_trace();
  }

  // Runs the step. Where parts are timed, returns what everything before the optimizer took.
  double run_program(ExecutedStep* record) {
    if (!options_.time_parts) {
      engine_.run(*loaded_, record);
      return 0;
    }
    const std::size_t end = program_.instructions.size();
    std::size_t optimizer = end;
    while (optimizer > 0 &&
           program_.section(program_.instructions[optimizer - 1].section).name == "optimizer")
      --optimizer;
    const double start = seconds_now();
    engine_.run(*loaded_, 0, optimizer, record);
    const double middle = seconds_now();
    engine_.run(*loaded_, optimizer, end, record);
    return middle - start;
  }

  double weight_decay_factor() const {
    if (!options_.weight_decay || options_.optimizer.weight_decay == 0) return 1;
    WeightDecaySchedule schedule = *options_.weight_decay;
    schedule.length = rate_.total;
    return weight_decay_at(schedule, schedule_done()) / options_.optimizer.weight_decay;
  }

  static void check_finite(const StepReport& report) {
    if (std::isfinite(report.loss) && std::isfinite(report.grad_norm)) return;
    throw diverged(format("training diverged in step {}: loss {}, gradient norm {}", report.step, report.loss,
                          report.grad_norm));
  }

  static Error diverged(std::string message) {
    return {ErrorKind::kInfeasible,
            {},
            std::move(message),
            "a lower --learning-rate or more --warmup-steps; the last checkpoint is as it was"};
  }

  void evaluate() {
    if (!evaluates() || last_evaluated_ == state_.step) return;
    last_evaluated_ = state_.step;
    const double start = seconds_now();
    double total = 0;
    std::int64_t tokens = 0;
    const std::int64_t batches = data_.validation->batches_per_epoch();
    for (std::int64_t i = 0; i < batches; ++i) {
      listener_.evaluating(i, batches);
      const Batch batch =
          data_.validation->batch({.epoch = 0, .batch = i}, {.rank = place_.dp, .ranks = plan_.dp});
      const std::int64_t batch_tokens = agreement_.sum(counts() ? batch.tokens : 0);
      set_batch(engine_, *evaluation_, split_over_context(batch, plan_, place_.cp), 0);
      set_step_scalars(engine_, *evaluation_, {.token_count = batch_tokens});
      engine_.run(*evaluation_);
      // Each rank of the last stage has the share of its own tokens; tensor-parallel ones have the same.
      const bool contributes = has_loss() && place_.tp == 0;
      total += agreement_.sum(contributes ? static_cast<double>(engine_.scalar("loss")) : 0) *
               static_cast<double>(batch_tokens);
      tokens += batch_tokens;
    }
    EvaluationReport report{
        .step = state_.step, .loss = total / static_cast<double>(tokens), .seconds = seconds_now() - start};
    if (!std::isfinite(report.loss))
      throw diverged(format("training diverged in step {}: validation loss {}", report.step, report.loss));
    validation_loss_ = report.loss;
    report.best = !state_.best_validation_loss || report.loss < *state_.best_validation_loss;
    if (events_) events_->scalar("validation/loss", report.step, report.loss);
    listener_.evaluated(report);
    if (!report.best) return;
    state_.best_validation_loss = report.loss;
    if (options_.save_dir.empty()) return;
    result_.best_model = options_.save_dir / "best_model";
    state_files_.save_model(result_.best_model, data_.tokenizer);
    listener_.saved(result_.best_model);
  }

  // Also at the end of a run that ends within an epoch.
  void end_epoch(bool complete) {
    evaluate();
    if (state_.epoch_tokens > 0) {  // else every step was skipped
      EpochReport report{.epoch = state_.epoch + 1,
                         .train_loss = state_.epoch_loss_sum / static_cast<double>(state_.epoch_tokens)};
      if (last_evaluated_ == state_.step) report.validation_loss = validation_loss_;
      listener_.epoch(report);
    }
    if (!complete) return;
    ++state_.epoch;
    state_.batch_in_epoch = 0;
    state_.epoch_loss_sum = 0;
    state_.epoch_tokens = 0;
  }

  void save() {
    if (options_.save_dir.empty() || last_saved_ == state_.step) return;
    last_saved_ = state_.step;
    result_.last_checkpoint = options_.save_dir / checkpoint_name(state_.step);
    state_files_.save_checkpoint(result_.last_checkpoint, data_.tokenizer, state_);
    listener_.saved(result_.last_checkpoint);
    if (!writes()) return;
    for (const Checkpoint& old : std::exchange(replaced_, {}))
      if (old.step != state_.step) remove_checkpoint(old.path);
    if (options_.save_total_limit == 0) return;
    std::vector<Checkpoint> found = find_checkpoints(options_.save_dir).checkpoints;
    const auto keep = static_cast<std::size_t>(options_.save_total_limit);
    // Only those of before this one: later ones belong to a run that went on from an earlier checkpoint.
    std::erase_if(found, [&](const Checkpoint& checkpoint) { return checkpoint.step > state_.step; });
    for (std::size_t i = 0; i + keep < found.size(); ++i) remove_checkpoint(found[i].path);
  }

  void remove_checkpoint(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::remove(path / kTrainingStateFile, error);  // first: half of one is no checkpoint
    if (!error) std::filesystem::remove_all(path, error);
    if (error) listener_.note(format("cannot remove {}: {}", path.string(), error.message()));
  }

  // All ranks' times are on the clock of rank 0, and the groups are numbered alike on all of them.
  void start_recorder() {
    RecorderOptions trace = *options_.trace;
    require_writable_folder(trace.folder);
    const auto plan =
        plan_metadata(plan_, resolved_partition(options_.config, plan_), PlannedStep::kTraining);
    trace.metadata.insert(trace.metadata.end(), plan.begin(), plan.end());
    if (world_.size() > 1) {
      trace.plan = &plan_;
      trace.rank = world_.rank();
      for (std::int64_t stage = 0; stage < plan_.pp; ++stage)
        trace.group_kinds.merge(collective_groups(build_step(options_.config, request_, plan_, stage)));
      const RankClock clock = measure_rank_clock(world_);
      trace.clock_offset = clock.offset;
      trace.clock_origin = clock.wall_origin;
    }
    recorder_.emplace(std::move(trace), program_);
  }

  void write_trace() {
    if (recorder_->recorded() == 0) {
      listener_.note("the run was too short for its tracing window: no trace was written");
      return;
    }
    recorder_->write();
    world_.barrier(kWorld);
    if (recorder_->records()) result_.trace = recorder_->files();
    if (writes()) {
      if (!result_.trace) result_.trace.emplace();
      result_.trace->kineto = recorder_->merge();
    }
    if (result_.trace) listener_.traced(*result_.trace);
  }

  const TrainOptions& options_;
  const TrainData& data_;
  Communicator& world_;
  TrainListener& listener_;
  const Plan plan_;
  const PlanGroups groups_;
  const Coordinates place_;
  const Agreement agreement_;
  const BatchSchedule batches_;
  const StepRequest request_;
  std::int64_t micro_batches_;  // of program_
  Program program_, evaluation_program_;
  CpuEngine engine_;
  ShardedState state_files_;
  LoadedProgram* loaded_ = nullptr;
  LoadedProgram* evaluation_ = nullptr;
  std::optional<RunRecorder> recorder_;
  std::optional<EventFile> events_;
  std::optional<RunLock> lock_;  // of the folder of checkpoints
  LearningRate rate_;
  std::int64_t total_steps_ = 0;
  TrainingState state_;
  TrainResult result_;
  std::vector<Checkpoint> replaced_;  // of another run, until this one has its first
  std::int64_t last_evaluated_ = -1, last_saved_ = -1;
  double validation_loss_ = 0;
};

}  // namespace

MemorySummary predicted_memory(const TrainOptions& options, Rank rank) {
  const Plan plan = with_micro_batches(options.plan, options.accumulation);  // of the largest step
  return summarize(build_step(options.config, training_request(options, options.accumulation), plan,
                              coordinates_of(plan, rank).pp))
      .memory;
}

TrainResult train(const TrainOptions& options, const TrainData& data, Communicator& world,
                  TrainListener& listener, const std::function<bool()>& stop_asked) {
  return Trainer(options, data, world, listener).run(stop_asked);
}

}  // namespace nadi
