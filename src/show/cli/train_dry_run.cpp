#include "nadi/cli/train_dry_run.h"

#include <ostream>

#include "nadi/base/temporary_folder.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/train_data.h"
#include "nadi/cli/train_options.h"
#include "nadi/cli/train_plan.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/command_line/flags.h"
#include "nadi/prediction/run_prediction.h"
#include "nadi/process/free_memory.h"
#include "nadi/report/run_preview_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

// Those that mpirun or srun have started, where one of them has.
std::int64_t ranks_of(const PlannedFlags& planned) {
  const std::int64_t started = ranks_started(process_environment());
  return started > 0 ? started : wanted_ranks(planned);
}

}  // namespace

void preview_training(const PlannedFlags& planned, Console& console) {
  if (rank_started(process_environment()).value_or(0) != 0) return;  // rank 0 speaks for all
  const Flags& flags = planned.flags;
  const std::optional<Cluster> cluster = given_cluster(flags);
  ResolvedTrain run = resolve_train(flags, ranks_of(planned), Rank{0});
  TrainOptions& options = run.options;
  TrainDataRequest request = data_request(flags, run, run.notes);
  // Index maps would stay beside the data.
  const TemporaryFolder maps("dry-run");
  request.data_cache = maps.path();
  for (const std::string& note : run.notes) console.info() << "note: " << note << "\n";
  DataMessages messages(console);
  const ResolvedTrainData data = resolve_train_data(std::move(request), options.config, messages);
  if (!data.validation) options.evaluate = false;
  limit_to_one_pass(flags, data, options);
  const RunPreview preview = preview_run(options, *data.train);
  RunPreviewReport report{
      .options = options,
      .data = data,
      .preview = preview,
      .how_to_know_time =
          "--cluster names the hardware: a device of 'nadi devices', or a file of 'nadi calibrate'"};
  if (options.device == DeviceKind::kCpu)
    if (const auto memory = read_free_memory()) report.free_memory = memory->least();
  if (cluster) {
    report.cluster = cluster->name;
    report.step_time = predicted_training_step(*cluster, options);
  }
  if (flags.given("--json"))
    console.out << dump_json(run_preview_json(report));
  else
    print_run_preview(report, console.out);
}

}  // namespace nadi::inline show
