#include "nadi/report/train_relay.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cuda/cuda_available.h"
#include "nadi/cuda/peak_rates.h"
#include "nadi/report/megatron_log.h"
#include "nadi/report/train_log.h"
#include "nadi/report/train_result.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/train/resolve_data.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline show {
namespace {

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

}  // namespace

template <class Call>
void TrainRelay::tell(const Call& call) {
  if (end_.reader_gone()) return;
  try {
    call();
  } catch (const ClosedPipe&) {
    end_.reader_left();
  }
}

void TrainRelay::note(const std::string& text) {
  tell([&] { log_.note(text); });
}

void TrainRelay::started(std::int64_t first, std::int64_t total) {
  hold_.emplace(interruption_, "finishing the step, then saving");
  watch_.doing(format("before step {} of {}", first + 1, total));
  tell([&] {
    if (run_.options.trace && first < total)
      if (const std::string text = short_window(*run_.options.trace, total - first); !text.empty())
        log_.note(text);
    log_.started(first, total);
  });
}

void TrainRelay::step(const StepReport& report) {
  end_.after(report.step);
  watch_.doing(format("after step {} of {}", report.step, report.total_steps));
  if (wandb_ != nullptr) wandb_->step(report);
  tell([&] { log_.step(report); });
}

void TrainRelay::evaluating(std::int64_t done, std::int64_t batches) {
  watch_.doing(format("evaluating, {} of {} batches", done, batches));
  tell([&] { log_.evaluating(done, batches); });
}

void TrainRelay::evaluated(const EvaluationReport& report) {
  if (wandb_ != nullptr) wandb_->evaluated(report);
  tell([&] { log_.evaluated(report); });
}

void TrainRelay::epoch(const EpochReport& report) {
  tell([&] { log_.epoch(report); });
}

void TrainRelay::saved(const std::filesystem::path& path) {
  tell([&] { log_.saved(path); });
}

void TrainRelay::traced(const RunTraceFiles& files) {
  tell([&] { log_.traced(files); });
}

std::unique_ptr<TrainListener> make_train_log(const ResolvedTrain& run, Rank rank, Console& first,
                                              Console& all, bool json) {
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

WandbOptions wandb_options(const ResolvedTrain& run, const ResolvedTrainData& data) {
  WandbOptions options = *run.wandb;
  options.settings = wandb_settings(run.options, data);
  options.now = time_since_1970;
  return options;
}

}  // namespace nadi::inline show
