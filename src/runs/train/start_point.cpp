#include "nadi/train/start_point.h"

#include <algorithm>
#include <memory>

#include "nadi/base/format.h"
#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/train/megatron_run.h"

namespace nadi::inline runs {
namespace {

namespace fs = std::filesystem;

std::vector<Checkpoint> checkpoints_in(const fs::path& folder, std::vector<std::string>& notes) {
  CheckpointList found = find_checkpoints(folder);
  if (found.ignored > 0)
    notes.push_back(format("{} folder{} in {} {} no complete checkpoint and {} left alone", found.ignored,
                           found.ignored == 1 ? "" : "s", folder.string(), found.ignored == 1 ? "is" : "are",
                           found.ignored == 1 ? "is" : "are"));
  return std::move(found.checkpoints);
}

// Ours, and with them the one that Megatron's tracker file names.
std::vector<Checkpoint> all_checkpoints_in(const fs::path& folder, std::vector<std::string>& notes) {
  std::vector<Checkpoint> found = checkpoints_in(folder, notes);
  const auto megatron = find_megatron_checkpoint(folder);
  if (megatron && !megatron->release) found.push_back({megatron->iteration, megatron->path});
  std::ranges::stable_sort(found, {}, &Checkpoint::step);
  return found;
}

// A checkpoint of Megatron-LM's that has no optimizer state: its converter writes such, and runs with
// --no-save-optim. One that says how far its training has come is continued with a new optimizer; of any
// other the weights are all there is. Checkpoints of our own runs are continued as they are, or not at all.
void load_newest(const fs::path& newest, Verify verify, StartPoint& start) {
  const std::unique_ptr<WholeModel> megatron = open_if_megatron(newest, verify);
  const bool foreign = megatron && !(megatron->progress() && megatron->progress()->own);
  const bool no_optimizer = foreign && !(megatron->progress() && megatron->progress()->adam);
  if (!no_optimizer) {
    start.resume_from = newest;
  } else if (megatron->progress() && megatron->progress()->samples > 0) {
    start.resume_from = newest;
    start.new_optimizer = true;
    start.notes.push_back(format("{} has no optimizer state: continuing after step {} with a new optimizer",
                                 newest.string(), megatron->progress()->iteration));
  } else {
    start.init_from = newest;
    start.notes.push_back(
        format("{} has no optimizer state: starting from its weights with a new optimizer", newest.string()));
  }
}

StartProblem load(const StartRequest& request, StartPoint& start) {
  std::vector<Checkpoint> found = all_checkpoints_in(request.load, start.notes);
  const auto megatron = find_megatron_checkpoint(request.load, request.load_step);
  if (request.load_step && megatron &&
      std::ranges::find(found, megatron->path, &Checkpoint::path) == found.end())
    found.push_back({megatron->iteration, megatron->path});
  if (request.load_step) {
    std::erase_if(found, [&](const Checkpoint& checkpoint) { return checkpoint.step != *request.load_step; });
    if (found.empty()) return StartProblem::kNoCheckpointOfStep;
  }
  if (!found.empty()) {
    if (request.load_weights_only)
      start.init_from = found.back().path;
    else
      load_newest(found.back().path, request.verify, start);
  } else if (megatron && megatron->release) {
    start.init_from = megatron->path;
    start.notes.push_back(format("starting from the weights in {}", megatron->path.string()));
  } else if (has_weights(request.load)) {
    start.init_from = request.load;
    start.notes.push_back(format("starting from the weights in {}", request.load.string()));
  } else if (request.must_load) {
    return StartProblem::kNothingToLoad;
  } else {
    std::error_code ignored;
    start.notes.push_back(
        fs::exists(request.load, ignored)
            ? format("no checkpoint in {}: starting from the beginning", request.load.string())
            : format("there is no folder {}: starting from the beginning", request.load.string()));
  }
  return StartProblem::kNone;
}

}  // namespace

StartPoint find_start(const StartRequest& request) {
  StartPoint start{.init_from = request.init_from};
  if (start.init_from.empty() && fs::is_directory(request.model) && has_weights(request.model)) {
    start.init_from = request.model;
    start.notes.push_back(format("starting from the weights in {}", request.model.string()));
  }
  if (!request.save_dir.empty()) start.own = all_checkpoints_in(request.save_dir, start.notes);
  if (request.resume && !start.own.empty()) {
    start.resume_from = start.own.back().path;
    start.continues_own = true;
    return start;
  }
  const bool loads = !request.load.empty();
  if (loads) start.problem = load(request, start);
  if (start.problem != StartProblem::kNone) return start;
  if (request.must_resume && (!loads || (start.resume_from.empty() && start.init_from.empty()))) {
    start.problem = StartProblem::kNothingToContinue;
    return start;
  }
  if (request.resume && !loads)
    start.notes.push_back(
        format("no checkpoint in {}: starting from the beginning", request.save_dir.string()));
  std::error_code ignored;
  const bool continued =
      !start.resume_from.empty() && loads && fs::equivalent(request.load, request.save_dir, ignored);
  if (!start.own.empty() && !continued) start.problem = StartProblem::kForeignCheckpoints;
  return start;
}

}  // namespace nadi::inline runs
