#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/start_ranks.h"
#include "nadi/cli/train_data.h"
#include "nadi/cli/train_dry_run.h"
#include "nadi/cli/train_flags.h"
#include "nadi/cli/train_options.h"
#include "nadi/cli/train_plan.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/cuda/peak_rates.h"
#include "nadi/launch/rank_world.h"
#include "nadi/launched/memory_check.h"
#include "nadi/report/megatron_log.h"
#include "nadi/report/run_prediction_text.h"
#include "nadi/report/train_log.h"
#include "nadi/report/train_result.h"
#include "nadi/run/agreement.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/silent_console.h"
#include "nadi/train/resolve_data.h"
#include "nadi/train/step_requests.h"
#include "nadi/train/wandb_run.h"

namespace nadi::inline show {
namespace {

// Ends a run early: when the user interrupts it, and when Megatron's --exit-interval or
// --exit-duration-in-mins say so.
class EarlyEnd {
 public:
  EarlyEnd(const ResolvedTrain& run, const Console& console) : run_(run), console_(console) {}

  void after(std::int64_t step) { step_ = step; }
  void reader_left() { reader_gone_ = true; }
  bool reader_gone() const { return reader_gone_; }
  bool asked() const {
    const bool at_interval = run_.exit_interval > 0 && step_ > 0 && step_ % run_.exit_interval == 0;
    const bool late = run_.exit_minutes > 0 &&
                      std::chrono::steady_clock::now() - start_ >= std::chrono::minutes(run_.exit_minutes);
    return console_.interrupted() || at_interval || late || reader_gone_;
  }
  // For a run that was stopped: another rank may have been interrupted, of which this one only sees the end.
  bool was_interrupt() const {
    return console_.interrupted() || (run_.exit_interval == 0 && run_.exit_minutes == 0);
  }

 private:
  const ResolvedTrain& run_;
  const Console& console_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t step_ = 0;
  bool reader_gone_ = false;
};

// What to say of a tracing window that a run is too short for, with flags that it is long enough for; ""
// where it is long enough. Error (usage) where no step would be traced.
std::string short_window(const RecorderOptions& window, std::int64_t steps) {
  const std::int64_t whole = window.wait + window.warmup + window.active;
  if (steps >= whole) return "";
  const std::int64_t traced = std::max<std::int64_t>(steps - window.wait - window.warmup, 0);
  const std::int64_t active = std::min(window.active, steps);
  const std::int64_t warmup = std::min(window.warmup, steps - active);
  const std::int64_t wait = std::min(window.wait, steps - active - warmup);
  const std::string run =
      format("the run has {} step{}, and its tracing window {} (wait {}, warm-up {}, active {})", steps,
             steps == 1 ? "" : "s", whole, window.wait, window.warmup, window.active);
  const std::string fit =
      format("--trace-wait {} --trace-warmup {} --trace-active {} fit", wait, warmup, active);
  if (traced == 0) throw usage_error(format("nothing would be traced: {}", run), fit);
  return format("{}: only {} of {} steps will be traced; {}", run, traced, window.active, fit);
}

// Passes on what a run tells, and counts its steps. From the first one on there is something to save: an
// interrupted run ends in its own time, and one whose output nobody reads any more is ended like that, too.
class Relay : public TrainListener {
 public:
  // `wandb` may be nullptr.
  Relay(TrainListener& log, const ResolvedTrain& run, EarlyEnd& end, Interruption* interruption,
        WandbRun* wandb, RankWatch& watch)
      : log_(log), run_(run), end_(end), interruption_(interruption), wandb_(wandb), watch_(watch) {}
  void note(const std::string& text) override {
    tell([&] { log_.note(text); });
  }
  void started(std::int64_t first, std::int64_t total) override {
    hold_.emplace(interruption_, "finishing the step, then saving");
    watch_.doing(format("before step {} of {}", first + 1, total));
    tell([&] {
      if (run_.options.trace && first < total)
        if (const std::string text = short_window(*run_.options.trace, total - first); !text.empty())
          log_.note(text);
      log_.started(first, total);
    });
  }
  void step(const StepReport& report) override {
    end_.after(report.step);
    watch_.doing(format("after step {} of {}", report.step, report.total_steps));
    if (wandb_ != nullptr) wandb_->step(report);
    tell([&] { log_.step(report); });
  }
  void evaluating(std::int64_t done, std::int64_t batches) override {
    watch_.doing(format("evaluating, {} of {} batches", done, batches));
    tell([&] { log_.evaluating(done, batches); });
  }
  void evaluated(const EvaluationReport& report) override {
    if (wandb_ != nullptr) wandb_->evaluated(report);
    tell([&] { log_.evaluated(report); });
  }
  void epoch(const EpochReport& report) override {
    tell([&] { log_.epoch(report); });
  }
  void saved(const std::filesystem::path& path) override {
    tell([&] { log_.saved(path); });
  }
  void traced(const RunTraceFiles& files) override {
    tell([&] { log_.traced(files); });
  }

 private:
  template <class Call>
  void tell(const Call& call) {
    if (end_.reader_gone()) return;
    try {
      call();
    } catch (const ClosedPipe&) {
      end_.reader_left();
    }
  }

  TrainListener& log_;
  const ResolvedTrain& run_;
  EarlyEnd& end_;
  Interruption* interruption_;
  WandbRun* wandb_;
  RankWatch& watch_;
  std::optional<Interruption::Hold> hold_;
};

std::optional<GpuThroughput> gpu_throughput(const TrainOptions& options) {
  if (options.device != DeviceKind::kCuda) return std::nullopt;
  return GpuThroughput{
      .config = options.config,
      .seq_length = options.seq_length,
      .ranks = options.plan.world_size(),
      .peak_tflops = cuda::peak_tflops(cuda::gpu_of_this_rank().name, options.dtype, options.math)};
}

// What the run does, in Megatron's names: computed from the options that it runs with, not from the words of
// the command line.
ArgumentList arguments_in_effect(const ResolvedTrain& run) {
  const TrainOptions& options = run.options;
  const Plan& plan = options.plan;
  const auto number = [](std::int64_t value) { return format("{}", value); };
  ArgumentList list{{{"model", run.model},
                     {"world_size", number(plan.world_size())},
                     {"tensor_model_parallel_size", number(plan.tp)},
                     {"pipeline_model_parallel_size", number(plan.pp)},
                     {"data_parallel_size", number(plan.dp)},
                     {"context_parallel_size", number(plan.cp)},
                     {"micro_batch_size", number(options.batch_size)},
                     {"global_batch_size", number(global_batch_of(options))},
                     {"num_layers", number(options.config.layers)},
                     {"hidden_size", number(options.config.width)},
                     {"num_attention_heads", number(options.config.heads)},
                     {"seq_length", number(options.seq_length)},
                     {"seed", format("{}", options.seed)}}};
  if (!plan.partition.empty())
    list.arguments.push_back({"partition", format("{}", fmt::join(plan.partition, "-"))});
  return list;
}

// `first` is the console of rank 0, silent on the others; `all` that of every rank. JSON has standard output
// to itself.
std::unique_ptr<TrainListener> make_log(const ResolvedTrain& run, Rank rank, Console& first, Console& all,
                                        bool json) {
  if (run.log_format == LogFormat::kNadi)
    return std::make_unique<TrainLog>(first, json ? first.info() : first.out, run.logging_steps,
                                      steady_clock(), gpu_throughput(run.options));
  const Plan& plan = run.options.plan;
  return std::make_unique<MegatronLog>(
      MegatronLogOptions{.config = run.options.config,
                         .seq_length = run.options.seq_length,
                         .ranks = plan.world_size(),
                         .interval = run.logging_steps,
                         .throughput = run.log_throughput,
                         .timing_level = run.timing_level,
                         .timing_option = run.timing_option,
                         .rank = to_number(rank),
                         .prints_lines = to_number(rank) == plan.world_size() - 1,
                         .prints_memory = coordinates_of(plan, rank).dp == 0,
                         .prints_notes = to_number(rank) == 0,
                         .arguments = arguments_in_effect(run)},
      json ? all.info() : all.out, all.info());
}

Nanoseconds time_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Nanoseconds{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

// The settings of a run for Weights & Biases: those of the result, the model, and the rest of the schedule.
Json wandb_settings(const TrainOptions& options, const ResolvedTrainData& data) {
  Json settings = train_settings_json(options, data);
  const ModelConfig& config = options.config;
  settings.update(Json{{"model_type", to_string(config.architecture)},
                       {"num_layers", config.layers},
                       {"hidden_size", config.width},
                       {"num_attention_heads", config.heads},
                       {"vocab_size", config.vocabulary},
                       {"num_epochs", options.epochs},
                       {"max_steps", options.max_steps},
                       {"warmup_steps", options.optimizer.learning_rate.warmup},
                       {"weight_decay", options.optimizer.weight_decay},
                       {"max_grad_norm", options.optimizer.max_grad_norm},
                       {"device", to_string(options.device)},
                       {"resumed_from", options.resume_from.string()}});
  return settings;
}

void check_memory_of(const TrainOptions& options, Communicator& world) {
  if (options.device == DeviceKind::kCuda)
    check_gpu_memory(world, predicted_engine_memory(options, world.rank()), StepKind::kTrain);
  else
    check_memory(world, predicted_memory(options, world.rank()), StepKind::kTrain);
}

// Whether all ranks compute on CPUs of one host, so that it does not matter which of them is where.
bool on_one_machine(const ResolvedTrain& run, const Communicator& world) {
  return run.options.device != DeviceKind::kCuda &&
         (world.size() == 1 || ranks_on_host(process_environment()) == world.size());
}

}  // namespace

void run_train(const Flags& given, Console& console) {
  const PlannedFlags planned = with_plan_file(given);
  const Flags& flags = planned.flags;
  resolve_device(flags);  // before anything is read
  if (flags.given("--dry-run")) return preview_training(planned, console);
  const std::optional<Cluster> cluster = given_cluster(flags);
  if (const std::int64_t ranks = wanted_ranks(planned); starts_ranks(ranks)) {
    resolve_train(flags, ranks, Rank{0});  // mistakes are said once, and before any rank starts
    return start_ranks("train", ranks, flags, console);
  }
  RankWorld world(rank_watch_options(flags, console));
  Communicator& communicator = world.communicator();
  const Rank rank = communicator.rank();
  SilentConsole silence(console);
  Console& first = to_number(rank) == 0 ? console : silence.console();

  ResolvedTrain run = resolve_train(flags, communicator.size(), rank);
  if (planned.file)
    for (std::string& note : placement_notes(*planned.file, planned.path, on_one_machine(run, communicator)))
      run.notes.push_back(std::move(note));
  TrainDataRequest request = data_request(flags, run, run.notes);
  for (const std::string& note : run.notes) first.info() << "note: " << note << "\n";
  TrainOptions& options = run.options;
  const bool checks_memory = !flags.given("--no-memory-check");
  // The vocabulary of some models comes with the data; all others are asked before that is read.
  const bool known = options.config.vocabulary > 0;
  if (checks_memory && known) check_memory_of(options, communicator);
  DataMessages messages(first);
  const ResolvedTrainData data = resolve_train_data(std::move(request), options.config, messages);
  if (checks_memory && !known) check_memory_of(options, communicator);
  if (!data.validation) options.evaluate = false;
  limit_to_one_pass(flags, data, options);
  first.info() << data.description;

  const bool json = flags.given("--json");
  const std::unique_ptr<TrainListener> log = make_log(run, rank, first, console, json);
  EarlyEnd end(run, console);
  std::optional<WandbRun> wandb;
  if (run.wandb && to_number(rank) == 0) {
    run.wandb->settings = wandb_settings(options, data);
    run.wandb->now = time_since_1970;
    wandb.emplace(*run.wandb);
  }
  Relay relay(*log, run, end, console.interruption, wandb ? &*wandb : nullptr, world.watch());
  const TrainResult result = train(options, {*data.train, data.validation.get(), data.tokenizer.get()},
                                   communicator, relay, [&] { return end.asked(); });
  if (wandb) {
    constexpr int kStopped = 130;
    wandb->finish(result.stopped && end.was_interrupt() ? kStopped : 0);
    console.info() << format("offline run: {}; upload it with: wandb sync {}\n", wandb->folder().string(),
                             wandb->folder().string());
  }
  if (result.stopped && end.reader_gone()) {
    console.err << format(
        "error: nobody reads standard output any more: stopped after step {}{}\n", result.steps,
        result.last_checkpoint.empty() ? ", nothing was saved"
                                       : format(", saved as {}", result.last_checkpoint.string()));
    throw SaidFailure{};
  }
  if (auto* const bar = dynamic_cast<TrainLog*>(log.get())) bar->finish();
  if (json)
    first.out << dump_json(train_result_json(options, data, result));
  else
    print_train_result(result, first.out);
  if (cluster && to_number(rank) == 0) {
    const std::int64_t steps = result.tokens / (global_batch_of(options) * options.seq_length);
    (json ? first.info() : first.out)
        << predicted_text(cluster->name, "step", predicted_training_step(*cluster, options),
                          steps > 0 ? result.seconds / static_cast<double>(steps) : 0);
  }
  // srun passes a signal on to rank after rank: those that it has not reached yet end with the others.
  if (result.stopped && console.interruption != nullptr) {
    const bool restart = console.interruption->wish() == EndWish::kRestart;
    if (Agreement(communicator).any(restart)) console.interruption->ask(EndWish::kRestart);
  }
  if (result.stopped && end.was_interrupt()) throw Interrupted{};
}

}  // namespace nadi::inline show
