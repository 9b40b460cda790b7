#include "nadi/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/writable_folder.h"
#include "nadi/checkpoint/atomic_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/data/batch_source.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/plan_groups.h"
#include "nadi/engine/cpu/cpu_engine.h"
#include "nadi/model/config_writer.h"
#include "nadi/parallel/step_program.h"
#include "nadi/trace/process_groups.h"
#include "nadi/train/agreement.h"
#include "nadi/train/event_file.h"
#include "nadi/train/rank_clock.h"
#include "nadi/train/run_lock.h"
#include "nadi/train/sharded_state.h"
#include "nadi/train/step_inputs.h"

namespace nadi {
namespace {

constexpr const char* kSkippedSteps = "skipped_steps";
constexpr const char* kAccumulation = "gradient_accumulation_steps";
constexpr const char* kDataParallel = "data_parallel_ranks";
constexpr const char* kSamples = "train_samples";
constexpr const char* kTokens = "train_tokens";

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
          {"warmup_steps", static_cast<double>(rate.warmup_steps)},
          {"total_steps", static_cast<double>(rate.total_steps)}};
}

// With as many micro-batches as are accumulated.
Plan complete(const TrainOptions& options) {
  Plan plan = options.plan;
  plan.micro_batches = options.accumulation;
  return plan;
}

StepRequest training_request(const TrainOptions& options) {
  return {.kind = StepKind::kTrain,
          .batch_size = options.batch_size * options.accumulation,
          .micro_batches = options.accumulation,
          .seq_length = options.seq_length,
          .dtype = options.dtype,
          .fused_attention = options.fused_attention,
          .recompute = options.recompute,
          .optimizer = options.optimizer,
          .bucket_elements = options.bucket_elements};
}

StepRequest evaluation_request(const TrainOptions& options) {
  return {.kind = StepKind::kEvaluate,
          .batch_size = options.batch_size,
          .seq_length = options.seq_length,
          .dtype = options.dtype,
          .fused_attention = options.fused_attention};
}

Plan one_micro_batch(Plan plan) {
  plan.micro_batches = 1;
  return plan;
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const TrainData& data, Communicator& world, TrainListener& listener)
      : options_(options),
        data_(data),
        world_(world),
        listener_(listener),
        plan_(complete(options)),
        groups_(world, plan_),
        place_(coordinates_of(plan_, world.rank())),
        agreement_(world),
        request_(training_request(options)),
        program_(build_step(options.config, request_, plan_, place_.pp)),
        evaluation_program_(
            build_step(options.config, evaluation_request(options), one_micro_batch(plan_), place_.pp)),
        engine_({.threads = options.threads,
                 .groups = world.size() > 1 ? &groups_ : nullptr,
                 .slowdown = options.slowdown}),
        state_files_(engine_, world, {.config = options.config, .plan = plan_, .request = request_}) {
    if (options.trace) start_recorder();
    rate_ = options.learning_rate;
    rate_.total_steps =
        options.max_steps > 0 ? options.max_steps : options.epochs * data.train.batches_per_epoch();
  }

  TrainResult run(const std::function<bool()>& stop_asked) {
    prepare();
    world_.barrier(kWorld);  // from here on all ranks have something to save, or none
    listener_.started(state_.step, rate_.total_steps);
    bool stop = false;
    while (state_.step < rate_.total_steps && !stop) {
      step();
      const bool epoch_ends = state_.batch_in_epoch == data_.train.batches_per_epoch();
      const bool run_ends = state_.step == rate_.total_steps;
      if (due(options_.eval_steps)) evaluate();
      if (epoch_ends || run_ends) end_epoch(epoch_ends);
      stop = agreement_.any(stop_asked());
      const bool save_due = options_.save_steps > 0 ? due(options_.save_steps) : epoch_ends;
      if (save_due || run_ends || stop) save();
    }
    result_.stopped = stop && state_.step < rate_.total_steps;
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
  std::int64_t global_batch() const { return options_.batch_size * options_.accumulation * plan_.dp; }
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
    loaded_ = &engine_.load(program_);
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
                         {kTokens, data_.train.tokens()}}};
  }

  void resume() {
    TrainingState saved = read_training_state(options_.resume_from);
    if (data_.train.has_as_many_as_wanted()) {  // its epochs may be longer now: a step is a batch
      saved.epoch = saved.step / data_.train.batches_per_epoch();
      saved.batch_in_epoch = saved.step % data_.train.batches_per_epoch();
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
    counter(kSkippedSteps);
    if (saved.schedule != state_.schedule || saved.schedule_settings != state_.schedule_settings ||
        saved.optimizer_settings != state_.optimizer_settings)
      listener_.note(
          "the settings of optimizer or learning rate are not those that the run was started with: it goes "
          "on with the new ones");
    data_.train.check_position({.epoch = saved.epoch, .batch = saved.batch_in_epoch}, {.file = file});
    // Other data, or another tokenizer: a position in it would mean something else.
    if (!data_.train.has_as_many_as_wanted())
      same("training samples:", counter(kSamples), data_.train.samples());
    else if (counter(kSamples) != data_.train.samples())
      listener_.note(format("the run was started for {} samples and goes on for {}: their order is another",
                            counter(kSamples), data_.train.samples()));
    same("training tokens:", counter(kTokens), data_.train.tokens());
    state_files_.load_training_tensors(options_.resume_from);
    const TrainingState fresh = std::move(state_);
    state_ = saved;
    state_.batch_size = fresh.batch_size;
    for (const char* name : {kAccumulation, kDataParallel, kSamples})
      state_.counters[name] = fresh.counters.at(name);
    state_.schedule = fresh.schedule;
    state_.schedule_settings = fresh.schedule_settings;
    state_.optimizer_settings = fresh.optimizer_settings;
  }

  void step() {
    const double start = seconds_now();
    const DataPosition position{.epoch = state_.epoch, .batch = state_.batch_in_epoch};
    StepScalars scalars{.seed = options_.seed,
                        .step = state_.step + 1,
                        .update = state_.step + 1 - skipped(),
                        .learning_rate = learning_rate_of(rate_, state_.step + 1 - skipped())};
    std::int64_t tokens = 0, samples = 0;
    for (std::int64_t m = 0; m < options_.accumulation; ++m) {
      const Part part{.rank = place_.dp * options_.accumulation + m,
                      .ranks = plan_.dp * options_.accumulation};
      const Batch batch = data_.train.batch(position, part);
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
    engine_.run(*loaded_, recorder_ ? recorder_->begin_step(scalars.step) : nullptr);

    ++state_.step;
    ++state_.batch_in_epoch;
    state_.samples_seen += samples;
    StepReport report{.step = state_.step,
                      .total_steps = rate_.total_steps,
                      .epoch = state_.epoch + 1,
                      .loss = agreement_.of(last_stage(), has_loss() ? engine_.scalar("loss") : 0),
                      .learning_rate = scalars.learning_rate,
                      .grad_norm = engine_.scalar("grad_norm"),
                      .tokens = tokens,
                      .global_batch = global_batch(),
                      .consumed_samples = state_.samples_seen,
                      .memory = engine_.allocated(),
                      .seconds = agreement_.maximum(seconds_now() - start)};
    if (scaled) {
      report.loss_scale = engine_.scalar("loss_scale");
      // A scale of 1 does not go down any more: what overflows then is no matter of scale.
      report.skipped = !std::isfinite(report.grad_norm) && scale_before > 1;
      if (report.skipped) ++state_.counters[kSkippedSteps];
    }
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
    result_.trace = recorder_->files();
    if (writes()) result_.trace->kineto = recorder_->merge();
    listener_.traced(*result_.trace);
  }

  const TrainOptions& options_;
  const TrainData& data_;
  Communicator& world_;
  TrainListener& listener_;
  const Plan plan_;
  const PlanGroups groups_;
  const Coordinates place_;
  const Agreement agreement_;
  const StepRequest request_;
  Program program_, evaluation_program_;
  CpuEngine engine_;
  ShardedState state_files_;
  LoadedProgram* loaded_ = nullptr;
  LoadedProgram* evaluation_ = nullptr;
  std::optional<RunRecorder> recorder_;
  std::optional<EventFile> events_;
  std::optional<RunLock> lock_;  // of the folder of checkpoints
  LearningRate rate_;
  TrainingState state_;
  TrainResult result_;
  std::vector<Checkpoint> replaced_;  // of another run, until this one has its first
  std::int64_t last_evaluated_ = -1, last_saved_ = -1;
  double validation_loss_ = 0;
};

}  // namespace

MemorySummary predicted_memory(const TrainOptions& options, Rank rank) {
  const Plan plan = complete(options);
  return summarize(build_step(options.config, training_request(options), plan, coordinates_of(plan, rank).pp))
      .memory;
}

TrainResult train(const TrainOptions& options, const TrainData& data, Communicator& world,
                  TrainListener& listener, const std::function<bool()>& stop_asked) {
  return Trainer(options, data, world, listener).run(stop_asked);
}

}  // namespace nadi
