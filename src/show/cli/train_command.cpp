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
#include "nadi/launch/rank_world.h"
#include "nadi/launched/memory_check.h"
#include "nadi/prediction/plan_file_answer.h"
#include "nadi/report/run_prediction_text.h"
#include "nadi/report/train_log.h"
#include "nadi/report/train_relay.h"
#include "nadi/report/train_result.h"
#include "nadi/run/agreement.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/silent_console.h"
#include "nadi/train/resolve_data.h"
#include "nadi/train/step_requests.h"
#include "nadi/train/wandb_run.h"

namespace nadi::inline show {
namespace {

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
  const std::unique_ptr<TrainListener> log = make_train_log(run, rank, first, console, json);
  EarlyTrainEnd end(run, console);
  std::optional<WandbRun> wandb;
  if (run.wandb && to_number(rank) == 0) {
    wandb.emplace(wandb_options(run, data));
  }
  TrainRelay relay(*log, run, end, console.interruption, wandb ? &*wandb : nullptr, world.watch());
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
