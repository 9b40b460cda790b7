#include <chrono>
#include <memory>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/units.h"
#include "nadi/cli/command.h"
#include "nadi/cli/console.h"
#include "nadi/cli/flags.h"
#include "nadi/cli/megatron_log.h"
#include "nadi/cli/megatron_tokenizer.h"
#include "nadi/cli/ranks.h"
#include "nadi/cli/silent_console.h"
#include "nadi/cli/train_data.h"
#include "nadi/cli/train_flags.h"
#include "nadi/cli/train_log.h"
#include "nadi/cli/train_options.h"
#include "nadi/cli/train_plan.h"
#include "nadi/cli/train_result.h"
#include "nadi/engine/comm/communicator.h"

namespace nadi {
namespace {

// Ends a run early: when the user interrupts it, and when Megatron's --exit-interval or
// --exit-duration-in-mins say so.
class EarlyEnd {
 public:
  EarlyEnd(const ResolvedTrain& run, const Console& console) : run_(run), console_(console) {}

  void after(std::int64_t step) { step_ = step; }
  bool asked() const {
    const bool at_interval = run_.exit_interval > 0 && step_ > 0 && step_ % run_.exit_interval == 0;
    const bool late = run_.exit_minutes > 0 &&
                      std::chrono::steady_clock::now() - start_ >= std::chrono::minutes(run_.exit_minutes);
    return interrupted() || at_interval || late;
  }
  // Of a run that was stopped: another rank may have been interrupted, of which this one only sees the end.
  bool was_interrupt() const { return interrupted() || (run_.exit_interval == 0 && run_.exit_minutes == 0); }

 private:
  bool interrupted() const { return console_.interrupted != nullptr && *console_.interrupted != 0; }

  const ResolvedTrain& run_;
  const Console& console_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t step_ = 0;
};

// Passes on what a run tells, and counts its steps.
class Relay : public TrainListener {
 public:
  Relay(TrainListener& log, EarlyEnd& end) : log_(log), end_(end) {}
  void note(const std::string& text) override { log_.note(text); }
  void started(std::int64_t first, std::int64_t total) override { log_.started(first, total); }
  void step(const StepReport& report) override {
    end_.after(report.step);
    log_.step(report);
  }
  void evaluating(std::int64_t done, std::int64_t batches) override { log_.evaluating(done, batches); }
  void evaluated(const EvaluationReport& report) override { log_.evaluated(report); }
  void epoch(const EpochReport& report) override { log_.epoch(report); }
  void saved(const std::filesystem::path& path) override { log_.saved(path); }
  void traced(const RunTraceFiles& files) override { log_.traced(files); }

 private:
  TrainListener& log_;
  EarlyEnd& end_;
};

TrainDataRequest data_request(const Flags& flags, const ResolvedTrain& run, std::vector<std::string>& notes) {
  const TrainOptions& options = run.options;
  MegatronTokenizer named = load_megatron_tokenizer(flags);
  if (flags.given("--tokenizer") && named.tokenizer)
    throw usage_error("--tokenizer and Megatron's flags for a tokenizer contradict each other");
  notes.insert(notes.end(), named.notes.begin(), named.notes.end());
  const std::int64_t global = global_batch_of(options);
  return {.data = flags.text("--data").value_or(""),
          .validation_data = flags.text("--eval-data").value_or(""),
          .shipped_sample = flags.given("--mock-data"),
          .cache_dir = flags.text("--cache-dir").value_or(kDefaultCacheDir),
          .data_path = flags.texts("--data-path"),
          .split = flags.text("--split").value_or(kDefaultSplit),
          .data_cache = flags.text("--data-cache-path").value_or(""),
          .train_samples = checked_multiply(options.max_steps, global, "samples"),
          .passes = options.epochs,
          .validation_samples = checked_multiply(run.eval_iterations, global, "samples"),
          .tokenizer = flags.text("--tokenizer").value_or(""),
          .checkpoint = options.resume_from.empty() ? options.init_from : options.resume_from,
          .loaded_tokenizer = std::move(named.tokenizer),
          .loaded_name = std::move(named.name),
          .vocabulary_multiple = flags.integer("--make-vocab-size-divisible-by").value_or(1),
          .max_seq_length = options.seq_length,
          .batch_size = global,
          .validation_batch_size = options.batch_size * options.plan.dp,
          .seed = options.seed,
          .validate = options.evaluate};
}

// `first` is the console of rank 0, silent on the others; `all` that of every rank. JSON has standard output
// to itself.
std::unique_ptr<TrainListener> make_log(const ResolvedTrain& run, Rank rank, Console& first, Console& all,
                                        bool json) {
  if (run.log_format == LogFormat::kNadi)
    return std::make_unique<TrainLog>(first, json ? first.err : first.out, run.logging_steps, steady_clock());
  const Plan& plan = run.options.plan;
  return std::make_unique<MegatronLog>(
      MegatronLogOptions{.config = run.options.config,
                         .learning_rate = run.options.learning_rate,
                         .seq_length = run.options.seq_length,
                         .ranks = plan.world_size(),
                         .interval = run.logging_steps,
                         .throughput = run.log_throughput,
                         .rank = to_number(rank),
                         .prints_lines = to_number(rank) == plan.world_size() - 1,
                         .prints_memory = coordinates_of(plan, rank).dp == 0,
                         .prints_notes = to_number(rank) == 0},
      json ? all.err : all.out, all.err);
}

class TrainCommand : public Command {
 public:
  void add_flags(Flags& flags) const override { add_train_flags(flags); }

  void run(const Flags& flags, Console& console) const override {
    if (flags.choice("--device").value_or(0) != 0)
      throw environment_error("this build of Nadi has no CUDA engine", "train with --device cpu");
    if (starts_ranks(flags)) {
      resolve_train(flags, ranks_to_start(flags), Rank{0});  // mistakes are said once, and not by every rank
      return start_ranks(flags, console);
    }
    RankWorld world;
    Communicator& communicator = world.communicator();
    const Rank rank = communicator.rank();
    SilentConsole silence(console);
    Console& first = to_number(rank) == 0 ? console : silence.console();

    ResolvedTrain run = resolve_train(flags, communicator.size(), rank);
    TrainDataRequest request = data_request(flags, run, run.notes);
    for (const std::string& note : run.notes) first.err << "note: " << note << "\n";
    TrainOptions& options = run.options;
    const ResolvedTrainData data = resolve_train_data(std::move(request), options.config, first);
    if (!data.validation) options.evaluate = false;
    if (flags.given("--data-path") && options.max_steps == 0)
      options.max_steps = data.train->batches_per_epoch();
    first.err << data.description;

    const bool json = flags.given("--json");
    const std::unique_ptr<TrainListener> log = make_log(run, rank, first, console, json);
    EarlyEnd end(run, console);
    Relay relay(*log, end);
    const TrainResult result = train(options, {*data.train, data.validation.get(), data.tokenizer.get()},
                                     communicator, relay, [&] { return end.asked(); });
    if (auto* const bar = dynamic_cast<TrainLog*>(log.get())) bar->finish();
    if (json)
      first.out << dump_json(train_result_json(options, data, result));
    else
      print_train_result(result, first);
    if (result.stopped && end.was_interrupt()) throw Interrupted{};
  }
};

}  // namespace

std::unique_ptr<Command> make_train_command() {
  return std::make_unique<TrainCommand>();
}

}  // namespace nadi
