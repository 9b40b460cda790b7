#include "nadi/cli/finished_run.h"

#include <filesystem>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/command_line/flags.h"
#include "nadi/job_files/resumed_words.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

bool continues(const JobFile& job, const Flags& train) {
  return train.given("--resume") || train.given("--resume-if-any") ||
         (job.requeue.max_restarts > 0 && job_to_resume(job).run.words != job.run.words);
}

}  // namespace

void refuse_finished_run(const JobFile& job, const Flags& train) {
  const auto folder = train.text("--save-dir");
  const bool goes_on = continues(job, train);
  // What neither continues nor overwrites is refused by the training itself, once it has begun.
  if (!folder || (!goes_on && train.given("--force")) || job.container.kind != ContainerKind::kNone) return;
  const std::string flag = train.given("--max-steps") ? "--max-steps" : "--train-iters";
  const auto steps = train.integer(flag);
  if (!steps) return;
  const fs::path save_dir = job.run.folder / *folder;
  std::error_code problem;
  if (!fs::is_directory(save_dir, problem)) return;
  const CheckpointList saved = find_checkpoints(save_dir);
  if (saved.checkpoints.empty() || saved.checkpoints.back().step < *steps) return;
  const Checkpoint& newest = saved.checkpoints.back();
  throw Error(
      ErrorKind::kInfeasible, {.file = newest.path.string()},
      format("nothing is left to train: the run in {} has done {} of {} steps", *folder, newest.step, *steps),
      format("--set run.train.{}={}{} goes on; --set run.train.save-dir=OTHER starts anew", flag.substr(2),
             newest.step * 2, goes_on ? "" : ", and --resume among the words of run.train,"));
}

}  // namespace nadi::inline show
