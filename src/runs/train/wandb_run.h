// A training run for Weights & Biases, written as an offline run: a folder that `wandb sync FOLDER` uploads
// later, from any machine. Nothing is sent.
//
//   WandbRun run({.folder = ".", .project = "gpt2", .settings = settings, .now = wall_clock});
//   run.step(report);                          // each step
//   run.evaluated(report);
//   run.finish(0);                             // exit code; without it the run counts as failed
//   run.folder()                               // "./wandb/offline-run-20260203_040506-ab12cd34"
//
// The folder holds run-<id>.wandb (wandb_log.h): protobuf messages `Record` of wandb_internal.proto, in this
// order: header, run (project, name, settings), a row of figures for each step and figures of the system now
// and then, the summary, exit, final, footer. A row is written when the next step begins, since a validation
// belongs to the row of its step.
//
// Figures are named as in TensorBoard's event files: train/loss, train/learning_rate, train/grad_norm,
// train/tokens_per_second, train/loss_scale, train/seconds, train/samples, train/memory_bytes,
// validation/loss. A resumed run is a run of its own; its steps go on where the other one ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/base/units.h"
#include "nadi/train/system_figures.h"
#include "nadi/train/train_listener.h"
#include "nadi/train/wandb_log.h"

namespace nadi::inline traces {
class WireWriter;
}  // namespace nadi::inline traces

namespace nadi::inline runs {

struct WandbOptions {
  std::filesystem::path folder = ".";  // wandb/ is made in it
  std::string project;
  std::string name = {};             // that people see; "": Weights & Biases makes one up
  std::string entity = {};           // user or team; "": that of whoever uploads
  Json settings = {};                // an object: the configuration of the run
  std::function<Nanoseconds()> now;  // time since 1970
  std::string id = {};               // eight of a-z and 0-9; "": at random
  std::string host = {};             // "": this machine's name
};

class WandbRun {
 public:
  // Makes the folder and the file. Error (environment) that names them where that cannot be done.
  explicit WandbRun(const WandbOptions& options);
  WandbRun(const WandbRun&) = delete;
  WandbRun& operator=(const WandbRun&) = delete;

  void step(const StepReport& report);
  void evaluated(const EvaluationReport& report);
  // Called at most once, last.
  void finish(int exit_code);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void append(const std::function<void(WireWriter&)>& content);
  void put(const char* name, double value);
  void flush_row();
  void write_system();
  double runtime() const;

  std::function<Nanoseconds()> now_;
  Nanoseconds start_;
  std::filesystem::path folder_;
  std::optional<WandbLog> log_;
  std::int64_t records_ = 0;
  std::optional<std::int64_t> step_;  // of the row that is being collected
  std::vector<std::pair<std::string, double>> row_;
  Nanoseconds row_time_;
  std::map<std::string, double> summary_;  // the last value of each figure
  SystemFigures system_;
  std::optional<Nanoseconds> system_time_;
};

}  // namespace nadi::inline runs
