// The folder in which a run saves its checkpoints, checkpoint-<step>/ or Megatron's iter_<step>/, and
// best_model/. Only the rank that writes opens it.
//
//   RunFolder folder(options, listener);
//   ...                              // the checkpoint of step 500 was saved
//   folder.remove_old(500, path);
//
// Locks the folder as long as it lives, so that no other run saves there. Checkpoints are removed as a whole
// (base/retire_folder.h): what has the name of a checkpoint is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "nadi/checkpoint/checkpoint_folder.h"
#include "nadi/train/run_lock.h"
#include "nadi/train/train_listener.h"

namespace nadi::inline runs {

struct TrainOptions;

class RunFolder {
 public:
  // Removes unfinished folders that an earlier run left. Error (environment) when the folder cannot be
  // written or another run has locked it; Error when config.json has no key for a setting of the model: now
  // rather than at the first checkpoint.
  RunFolder(const TrainOptions& options, TrainListener& listener);

  // After the checkpoint of `step` was saved at `saved`: removes the checkpoints of another run that this one
  // replaces, and those beyond options.save_total_limit. A checkpoint in which there is something else stays,
  // with a note. Of a checkpoint that is a symbolic link only the link goes.
  void remove_old(std::int64_t step, const std::filesystem::path& saved);

  // The same, without replacing anything, when a run continues from the checkpoint of `step`: the one before
  // may have been killed between saving and removing.
  void remove_beyond_limit(std::int64_t step);

 private:
  void remove(const std::filesystem::path& checkpoint);

  const TrainOptions& options_;
  TrainListener& listener_;
  RunLock lock_;
  std::set<std::filesystem::path> stays_;  // those that could not be removed
  std::vector<Checkpoint> replaced_;       // of another run, until this run has its first checkpoint
};

}  // namespace nadi::inline runs
