#include "nadi/train/trainer.h"

#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/writable_folder.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/plan_groups.h"
#include "nadi/data/batch_source.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/parallel/deadlock_check.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/parallel/step_program.h"
#include "nadi/run/agreement.h"
#include "nadi/run/rank_clock.h"
#include "nadi/run/sharded_state.h"
#include "nadi/train/event_file.h"
#include "nadi/train/megatron_run.h"
#include "nadi/train/run_folder.h"
#include "nadi/train/run_state.h"
#include "nadi/train/step_feeder.h"
#include "nadi/train/step_inputs.h"
#include "nadi/train/step_requests.h"
#include "nadi/unroll/plan_metadata.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline runs {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Nanoseconds wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
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
        evaluation_program_(
            build_step(options.config, evaluation_request(options), with_micro_batches(plan_, 1), place_.pp)),
        engine_(make_engine(options.device, {.threads = options.threads,
                                             .groups = world.size() > 1 ? &groups_ : nullptr,
                                             .slowdown = options.slowdown,
                                             .math = options.math})),
        state_(options, batches_, data.train),
        feeder_({.options = options,
                 .data = data.train,
                 .plan = plan_,
                 .place = place_,
                 .agreement = agreement_,
                 .state = state_,
                 .engine = *engine_}) {
    check_batch_schedule(options, batches_);
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
    mark_profiler_range({});
    // A tracing window that the run was too short for: the steps that were recorded are written.
    if (recorder_ && !recorder_->finished()) write_trace();
    return result_;
  }

 private:
  bool evaluates() const { return options_.evaluate && data_.validation != nullptr; }
  bool writes() const { return world_.rank() == Rank{0}; }  // files that all ranks share
  // A rank that has the loss.
  Rank last_stage() const { return rank_at(plan_, Coordinates{.pp = plan_.pp - 1}); }
  bool has_loss() const { return place_.pp == plan_.pp - 1; }
  bool due(std::int64_t every) const { return every > 0 && state_.step() % every == 0; }

  void prepare() {
    if (!options_.save_dir.empty()) check_savable_for_megatron(options_);
    if (!options_.save_dir.empty() && writes()) folder_.emplace(options_, listener_);
    const std::filesystem::path weights =
        options_.resume_from.empty() ? options_.init_from : options_.resume_from;
    const std::unique_ptr<WholeModel> megatron = open_if_megatron(weights, options_.verify);
    if (!megatron && !weights.empty() && options_.verify == Verify::kYes)
      if (const auto manifest = ChecksumManifest::read(weights)) manifest->check_files();
    // The checkpoint may have the schedules, which are part of the programs.
    if (!options_.resume_from.empty()) resume(megatron.get());
    stages_.emplace(options_.config, request_of(plan_.micro_batches), plan_);
    refuse_deadlock();
    state_files_.emplace(*engine_, world_, *stages_, options_.save_format);
    if (options_.trace) start_recorder();
    stages_->keep_only(place_.pp);
    load_programs();
    if (options_.config.experts > 0) expert_loads_.emplace(options_.config, plan_, world_.rank(), *engine_);
    if (writes() && !engine_->remark().empty()) listener_.note(engine_->remark());
    if (megatron)
      state_files_->load_weights(*megatron);
    else if (!weights.empty())
      load_pretrained(weights);
    if (!options_.resume_from.empty() && options_.resume_optimizer) {
      if (megatron)
        state_files_->load_training_tensors(*megatron);
      else
        state_files_->load_training_tensors(options_.resume_from, options_.verify);
    }
    for (const std::string& note : state_files_->notes()) listener_.note(note);
    // Not before it is loaded: until then, an older one might be needed.
    if (folder_ && options_.save_dir / options_.resume_from.filename() == options_.resume_from)
      folder_->remove_beyond_limit(state_.step());
    check_trace_window();
    write_counters();
    engine_->initialize(options_.seed);
    if (engine_->find_variable("loss_scale") != nullptr)
      loss_scale_ = static_cast<double>(engine_->read_all<float>("loss_scale").front());
    if (!options_.tensorboard_dir.empty() && writes())
      events_.emplace(EventFileOptions{.folder = options_.tensorboard_dir, .now = wall_clock});
  }

  void resume(const WholeModel* megatron) {
    if (megatron == nullptr) return state_.resume(listener_);
    if (!megatron->progress())
      throw input_error({.file = options_.resume_from.string()},
                        "the checkpoint has weights alone: it does not say where its training stands",
                        "start a new run from its weights");
    state_.resume(*megatron->progress(), megatron->tensors().front().dtype, listener_);
  }

  void load_pretrained(const std::filesystem::path& folder) {
    const std::vector<std::string> unused = state_files_->load_weights(folder, options_.verify);
    if (!unused.empty())
      listener_.note(format("{} tensors of {} are not part of the model and were left: '{}'{}", unused.size(),
                            folder.string(), unused.front(), unused.size() > 1 ? ", ..." : ""));
  }

  StepRequest request_of(std::int64_t micro_batches) const {
    StepRequest request = training_request(options_, micro_batches);
    request.optimizer = state_.optimizer();
    return request;
  }

  // The graph counts by itself, from these numbers on; checkpoints have the host's.
  std::array<std::pair<const char*, std::int64_t>, 3> counters() const {
    return {{{"updates", state_.updates()},
             {"schedule_position", state_.schedule_position()},
             {"skipped_updates", state_.skipped()}}};
  }
  void write_counters() {
    for (const auto& [name, value] : counters()) engine_->write_all<std::int64_t>(name, std::span(&value, 1));
  }
  void check_counters() const {
    for (const auto& [name, value] : counters())
      check(engine_->read_all<std::int64_t>(name).front() == value,
            format("the graph has counted other {} than the host", name));
  }

  // Before anything is sent: whether the programs of all ranks can run to their ends. Every rank comes to the same result by itself.
  void refuse_deadlock() const {
    if (world_.size() == 1) return;
    if (const auto fault = find_communication_fault(plan_, stages_->all()))
      throw usage_error(
          "the ranks of this plan would wait for each other for ever: " + fault->message,
          "this is a mistake in the programs of the plan, please report it; another schedule may run");
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

  // The program of each batch size that the run has: all of them share memory that is laid out once.
  void load_programs() {
    std::set<std::int64_t> sizes;
    for (const BatchSchedule::Phase& phase : batches_.phases())
      sizes.insert(feeder_.micro_batches_of(phase.size));
    for (const std::int64_t micro_batches : sizes) {
      const Program* program = &stages_->of(place_.pp);
      if (micro_batches != plan_.micro_batches)
        program = &other_programs_.emplace_back(build_step(
            options_.config, request_of(micro_batches), with_micro_batches(plan_, micro_batches), place_.pp));
      feeder_.add({micro_batches, program, engine_->load(*program)});
    }
    if (evaluates()) evaluation_ = engine_->load(evaluation_program_);
    engine_->bind();
  }

  // A step that was started, and what is to be reported of it when it is done.
  struct StepUnderWay {
    Ticket ticket{};
    FedStep fed = {};
    StepReport report = {};
    double begun = 0, forward_backward = 0;
  };

  // A device beside the host goes on with the next step while the host reads how the one before ended. Not
  // where the host takes part in a step.
  bool runs_ahead() const {
    return engine_->runs_beside_host() && !options_.time_parts && (!recorder_ || recorder_->finished());
  }

  void step() {
    if (!step_began_) step_began_ = seconds_now();
    if (feeder_.failed()) finish_step_under_way();  // it was fed, and is told of
    StepUnderWay now{.fed = feeder_.take()};
    const std::int64_t size = now.fed.size;
    if (recorder_) recorder_->set_metadata("batch_size", format("{}", size / plan_.dp));
    if (recorder_) recorder_->set_metadata("global_batch_size", format("{}", size));
    mark_profiler_range(now.fed.number);
    now.begun = seconds_now();
    if (!step_began_) step_began_ = now.begun;  // the step before has been finished just now
    const StartedStep started = run_program(
        now.fed, recorder_ ? recorder_->begin_step(now.fed.number, *now.fed.program->program) : nullptr);
    now.ticket = started.ticket;
    now.forward_backward = started.forward_backward;
    state_.finish_step(now.fed.samples);
    now.report = {.step = state_.step(),
                  .total_steps = state_.total_steps(),
                  .epoch = state_.epoch() + 1,
                  .tokens = now.fed.tokens,
                  .global_batch = size,
                  .consumed_samples = state_.samples_seen(),
                  .memory = engine_->allocated()};
    feeder_.feed_ahead();
    if (under_way_) {
      finish_step_under_way();
      step_began_ = seconds_now();  // on the device, where one step follows the other
    }
    under_way_ = std::move(now);
    if (!runs_ahead()) finish_step_under_way();
    if (options_.profiler_range && state_.step() == options_.profiler_range->last) mark_profiler_range({});
  }

  // Before a step, or where none follows that belongs to it.
  void mark_profiler_range(std::optional<std::int64_t> step) {
    if (!options_.profiler_range) return;
    const ProfilerRange& range = *options_.profiler_range;
    const bool is_ours = range.ranks.empty() || range.ranks.contains(to_number(world_.rank()));
    const bool inside = is_ours && step && *step >= range.first && *step <= range.last;
    if (inside == in_profiler_range_) return;
    finish_step_under_way();
    engine_->mark_profiler_range(inside);
    in_profiler_range_ = inside;
  }

  // Waits for it. What is evaluated, counted or saved has ended well: those call this first.
  void finish_step_under_way() {
    if (!under_way_) return;
    StepUnderWay done = *std::exchange(under_way_, std::nullopt);
    StepReport& report = done.report;
    const auto metric = [&](const char* name) { return engine_->scalar(done.ticket, name); };
    if (takes_grad_norm(options_.optimizer, options_.dtype == DType::kF16))
      report.grad_norm = metric("grad_norm");
    else
      engine_->wait(done.ticket);
    report.learning_rate = state_.learning_rate(report.step);
    const double computed = seconds_now();
    report.loss = agreement_.of(last_stage(), has_loss() ? metric("loss") : 0);
    report.seconds = agreement_.maximum(seconds_now() - *step_began_);
    step_began_.reset();
    if (expert_loads_) report.experts = expert_loads_->of_last_step(agreement_);
    if (options_.time_parts)
      report.parts = {{"batch-generator", agreement_.each(done.fed.seconds)},
                      {"forward-backward", agreement_.each(done.forward_backward)},
                      {"optimizer", agreement_.each(computed - done.begun - done.forward_backward)}};
    if (options_.dtype == DType::kF16) {
      report.loss_scale = metric("loss_scale");
      // The scale does not fall below 1: an overflow at 1 is divergence.
      report.skipped = !std::isfinite(*report.grad_norm) && loss_scale_ > 1;
      loss_scale_ = *report.loss_scale;
      if (report.skipped) state_.skip_update(report.global_batch);
    }
    report.next_learning_rate = state_.learning_rate(report.step + 1);
    report.skipped_steps = state_.skipped();
    if (!report.skipped) check_finite(report);
    if (std::isfinite(report.loss)) {
      state_.add_loss(report.loss, done.fed.scalars.token_count);
      if (!result_.first_loss) result_.first_loss = report.loss;
      result_.last_loss = report.loss;
    }
    result_.tokens += done.fed.tokens;
    result_.seconds += report.seconds;
    if (events_) {
      events_->scalar("train/loss", report.step, report.loss);
      events_->scalar("train/learning_rate", report.step, report.learning_rate);
      if (report.grad_norm) events_->scalar("train/grad_norm", report.step, *report.grad_norm);
      events_->scalar("train/tokens_per_second", report.step,
                      static_cast<double>(done.fed.tokens) / report.seconds);
      if (report.loss_scale) events_->scalar("train/loss_scale", report.step, *report.loss_scale);
      if (report.experts)
        for (const auto& [name, value] : named_figures(*report.experts))
          events_->scalar(name, report.step, value);
    }
    listener_.step(report);
    if (recorder_ && recorder_->end_step()) write_trace();
  }

  struct StartedStep {
    Ticket ticket{};
    double forward_backward = 0;  // what everything before the optimizer took, where parts are timed
  };
  StartedStep run_program(const FedStep& fed, ExecutedStep* record) {
    if (!options_.time_parts)
      return {.ticket = engine_->run(fed.program->handle, {.inputs = fed.set, .record = record})};
    const Program& program = *fed.program->program;
    std::size_t optimizer = program.instructions.size();
    while (optimizer > 0 && program.section(program.instructions[optimizer - 1].section).name == "optimizer")
      --optimizer;
    const double start = seconds_now();
    engine_->wait(engine_->run(fed.program->handle, {.inputs = fed.set, .end = optimizer, .record = record}));
    const double middle = seconds_now();
    return {.ticket =
                engine_->run(fed.program->handle, {.inputs = fed.set, .first = optimizer, .record = record}),
            .forward_backward = middle - start};
  }

  static void check_finite(const StepReport& report) {
    if (std::isfinite(report.loss) && std::isfinite(report.grad_norm.value_or(0))) return;
    const std::string norm = report.grad_norm ? format(", gradient norm {}", *report.grad_norm) : "";
    throw diverged(format("training diverged in step {}: loss {}{}", report.step, report.loss, norm));
  }

  static Error diverged(std::string message) {
    return {ErrorKind::kInfeasible,
            {},
            std::move(message),
            "try a lower learning rate or a longer warm-up; the last checkpoint is unchanged"};
  }

  void evaluate() {
    finish_step_under_way();
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
      const std::int64_t batch_tokens = agreement_.sum(feeder_.counts() ? batch.tokens : 0);
      const StepInputs inputs{*engine_, evaluation_};
      set_batch(inputs, split_over_context(batch, plan_, place_.cp), 0);
      set_step_scalars(inputs, {.token_count = batch_tokens});
      const Ticket ticket = engine_->run(evaluation_);
      // Each rank of the last stage has the share of its own tokens; tensor-parallel ones have the same.
      const bool contributes = has_loss() && place_.tp == 0;
      total += agreement_.sum(contributes ? engine_->scalar(ticket, "loss") : 0) *
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
    state_files_->save_model(result_.best_model, data_.tokenizer);
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
    finish_step_under_way();
    if (options_.save_dir.empty() || last_saved_ == state_.step()) return;
    last_saved_ = state_.step();
    check_counters();
    const auto tensors = options_.save_optimizer ? OptimizerTensors::kSaved : OptimizerTensors::kLeftOut;
    if (options_.save_form == SaveForm::kNadi) {
      result_.last_checkpoint = options_.save_dir / checkpoint_name(state_.step());
      state_files_->save_checkpoint(result_.last_checkpoint, data_.tokenizer, state_.saved(), tensors);
    } else {
      result_.last_checkpoint = options_.save_dir / iteration_folder_name(state_.step());
      state_files_->save_checkpoint_through(
          options_.save_dir / checkpoint_name(state_.step()), data_.tokenizer, state_.saved(), tensors,
          [&](const std::filesystem::path& ours) { save_for_megatron(ours, state_.step(), options_); });
    }
    listener_.saved(result_.last_checkpoint);
    if (folder_) folder_->remove_old(state_.step(), result_.last_checkpoint);
  }

  // All ranks' times are on the clock of rank 0, and the groups are numbered alike on all of them.
  void start_recorder() {
    RecorderOptions trace = *options_.trace;
    if (const std::string reason = engine_->why_no_record(); !reason.empty())
      throw environment_error(format("this run cannot be traced: {}", reason));
    require_writable_folder(trace.folder);
    const auto plan =
        plan_metadata(plan_, resolved_partition(options_.config, plan_), PlannedStep::kTraining);
    trace.metadata.insert(trace.metadata.end(), plan.begin(), plan.end());
    if (world_.size() > 1) {
      trace.plan = &plan_;
      trace.rank = world_.rank();
      for (const Program* stage : stages_->all()) trace.group_kinds.merge(collective_groups(*stage));
      const RankClock clock = measure_rank_clock(world_);
      trace.clock_offset = clock.offset;
      trace.clock_origin = clock.wall_origin;
    }
    recorder_.emplace(std::move(trace));
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
  std::optional<StagePrograms> stages_;  // of the largest step
  std::deque<Program> other_programs_;   // of this stage, where batches change
  const Program evaluation_program_;
  const std::unique_ptr<Engine> engine_;
  std::optional<ShardedState> state_files_;
  RunState state_;
  StepFeeder feeder_;
  ProgramHandle evaluation_{};
  std::optional<StepUnderWay> under_way_;
  std::optional<double> step_began_;  // when the last one that is to be reported was, or feeding it began
  double loss_scale_ = 1;             // before the next step, where there is one
  std::optional<ExpertLoads> expert_loads_;  // of models that have experts
  std::optional<RunRecorder> recorder_;
  bool in_profiler_range_ = false;
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

}  // namespace nadi::inline runs
