#include "nadi/train/trainer.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/writable_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/data/batch_source.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/plan_groups.h"
#include "nadi/engine/cpu/cpu_engine.h"
#include "nadi/parallel/step_program.h"
#include "nadi/run/agreement.h"
#include "nadi/run/rank_clock.h"
#include "nadi/run/sharded_state.h"
#include "nadi/train/event_file.h"
#include "nadi/train/run_folder.h"
#include "nadi/train/run_state.h"
#include "nadi/train/step_inputs.h"
#include "nadi/train/step_requests.h"
#include "nadi/unroll/plan_metadata.h"
#include "nadi/unroll/process_groups.h"

namespace nadi {
namespace {

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
        batches_(batch_schedule_of(options)),
        request_(training_request(options, options.accumulation)),
        micro_batches_(options.accumulation),
        program_(build_step(options.config, request_, plan_, place_.pp)),
        evaluation_program_(
            build_step(options.config, evaluation_request(options), with_micro_batches(plan_, 1), place_.pp)),
        engine_({.threads = options.threads,
                 .groups = world.size() > 1 ? &groups_ : nullptr,
                 .slowdown = options.slowdown}),
        state_files_(engine_, world, {.config = options.config, .plan = plan_, .request = request_}),
        state_(options, batches_, data.train) {
    check_batch_schedule(options, batches_);
    if (options.trace) start_recorder();
  }

  TrainResult run(const std::function<bool()>& stop_asked) {
    prepare();
    world_.barrier(kWorld);  // from here on all ranks have something to save, or none
    listener_.started(state_.step(), state_.total_steps());
    bool stop = false;
    while (state_.step() < state_.total_steps() && !stop) {
      step();
      const bool epoch_ends = state_.epoch_ends();
      const bool run_ends = state_.step() == state_.total_steps();
      if (due(options_.eval_steps)) evaluate();
      if (epoch_ends || run_ends) end_epoch(epoch_ends);
      stop = agreement_.any(stop_asked());
      const bool save_due = options_.save_steps > 0 ? due(options_.save_steps) : epoch_ends;
      if (save_due || run_ends || stop) save();
    }
    result_.stopped = stop && state_.step() < state_.total_steps();
    result_.steps = state_.step();
    result_.best_validation_loss = state_.best_validation_loss();
    result_.skipped_steps = state_.skipped();
    // A tracing window that the run was too short for: the steps that were recorded are written.
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
  bool due(std::int64_t every) const { return every > 0 && state_.step() % every == 0; }

  void prepare() {
    if (!options_.save_dir.empty() && writes()) folder_.emplace(options_, listener_);
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
    if (!options_.resume_from.empty()) {
      state_.resume(listener_);
      if (options_.resume_optimizer) state_files_.load_training_tensors(options_.resume_from);
    }
    check_trace_window();
    engine_.initialize(options_.seed);
    if (!options_.tensorboard_dir.empty() && writes())
      events_.emplace(EventFileOptions{.folder = options_.tensorboard_dir, .now = wall_clock});
  }

  // A trace is of one program.
  void check_trace_window() const {
    if (!recorder_ || batches_.is_constant()) return;
    const std::int64_t first = state_.step() + options_.trace->wait + options_.trace->warmup + 1;
    const std::int64_t last = first + options_.trace->active - 1;
    if (batches_.size_of(first) == batches_.size_of(last)) return;
    throw usage_error(format("the tracing window, steps {} to {}, has batches of {} and of {} samples", first,
                             last, batches_.size_of(first), batches_.size_of(last)),
                      "choose a tracing window in which all steps have one batch size");
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
    const std::int64_t size = state_.batch_size();
    use_micro_batches(size / (options_.batch_size * plan_.dp));
    if (recorder_) recorder_->set_metadata("batch_size", format("{}", size / plan_.dp));
    if (recorder_) recorder_->set_metadata("global_batch_size", format("{}", size));
    const RowRange rows{.epoch = state_.epoch(), .first = state_.samples_of_epoch(), .rows = size};
    StepScalars scalars{.seed = options_.seed,
                        .step = state_.step() + 1,
                        .update_number = state_.update(),
                        .learning_rate = state_.learning_rate(),
                        .weight_decay_factor = state_.weight_decay_factor()};
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
    state_.finish_step(samples);
    StepReport report{.step = state_.step(),
                      .total_steps = state_.total_steps(),
                      .epoch = state_.epoch() + 1,
                      .loss = agreement_.of(last_stage(), has_loss() ? engine_.scalar("loss") : 0),
                      .learning_rate = scalars.learning_rate,
                      .grad_norm = engine_.scalar("grad_norm"),
                      .tokens = tokens,
                      .global_batch = size,
                      .consumed_samples = state_.samples_seen(),
                      .memory = engine_.allocated(),
                      .seconds = agreement_.maximum(seconds_now() - start)};
    if (options_.time_parts)
      report.parts = {{"batch-generator", agreement_.each(fed - start)},
                      {"forward-backward", agreement_.each(forward_backward)},
                      {"optimizer", agreement_.each(computed - fed - forward_backward)}};
    if (scaled) {
      report.loss_scale = engine_.scalar("loss_scale");
      // The scale does not fall below 1: an overflow at 1 is divergence.
      report.skipped = !std::isfinite(report.grad_norm) && scale_before > 1;
      if (report.skipped) state_.skip_update(size);
    }
    report.next_learning_rate = state_.learning_rate();
    report.skipped_steps = state_.skipped();
    if (!report.skipped) check_finite(report);
    if (std::isfinite(report.loss)) {
      state_.add_loss(report.loss, scalars.token_count);
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

  static void check_finite(const StepReport& report) {
    if (std::isfinite(report.loss) && std::isfinite(report.grad_norm)) return;
    throw diverged(format("training diverged in step {}: loss {}, gradient norm {}", report.step, report.loss,
                          report.grad_norm));
  }

  static Error diverged(std::string message) {
    return {ErrorKind::kInfeasible,
            {},
            std::move(message),
            "try a lower learning rate or a longer warm-up; the last checkpoint is unchanged"};
  }

  void evaluate() {
    if (!evaluates() || last_evaluated_ == state_.step()) return;
    last_evaluated_ = state_.step();
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
        .step = state_.step(), .loss = total / static_cast<double>(tokens), .seconds = seconds_now() - start};
    if (!std::isfinite(report.loss))
      throw diverged(format("training diverged in step {}: validation loss {}", report.step, report.loss));
    validation_loss_ = report.loss;
    report.best = !state_.best_validation_loss() || report.loss < *state_.best_validation_loss();
    if (events_) events_->scalar("validation/loss", report.step, report.loss);
    listener_.evaluated(report);
    if (!report.best) return;
    state_.set_best_validation_loss(report.loss);
    if (options_.save_dir.empty()) return;
    result_.best_model = options_.save_dir / "best_model";
    state_files_.save_model(result_.best_model, data_.tokenizer);
    listener_.saved(result_.best_model);
  }

  // Also at the end of a run that ends within an epoch.
  void end_epoch(bool complete) {
    evaluate();
    if (const auto loss = state_.epoch_loss()) {
      EpochReport report{.epoch = state_.epoch() + 1, .train_loss = *loss};
      if (last_evaluated_ == state_.step()) report.validation_loss = validation_loss_;
      listener_.epoch(report);
    }
    if (complete) state_.finish_epoch();
  }

  void save() {
    if (options_.save_dir.empty() || last_saved_ == state_.step()) return;
    last_saved_ = state_.step();
    result_.last_checkpoint = options_.save_dir / checkpoint_name(state_.step());
    state_files_.save_checkpoint(result_.last_checkpoint, data_.tokenizer, state_.saved());
    listener_.saved(result_.last_checkpoint);
    if (folder_) folder_->remove_old(state_.step());
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
  RunState state_;
  LoadedProgram* loaded_ = nullptr;
  LoadedProgram* evaluation_ = nullptr;
  std::optional<RunRecorder> recorder_;
  std::optional<EventFile> events_;
  std::optional<RunFolder> folder_;  // on the rank that writes, where anything is saved
  TrainResult result_;
  std::int64_t last_evaluated_ = -1, last_saved_ = -1;
  double validation_loss_ = 0;
};

}  // namespace

TrainResult train(const TrainOptions& options, const TrainData& data, Communicator& world,
                  TrainListener& listener, const std::function<bool()>& stop_asked) {
  return Trainer(options, data, world, listener).run(stop_asked);
}

}  // namespace nadi
