// Where the checkpoints of a run are: folders "checkpoint-<step>" in the run's folder, written through
// AtomicFolder (atomic_folder.h). What they hold besides the files of a pretrained model is in
// training_state.h; its JSON file is written last and marks a checkpoint as complete.
//
//   AtomicFolder folder(save_dir / checkpoint_name(500));
//   ...
//   const CheckpointList found = find_checkpoints(save_dir);
//   if (!found.checkpoints.empty()) resume(found.checkpoints.back().path);
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nadi::inline files {

std::string checkpoint_name(std::int64_t step);  // "checkpoint-500"

struct Checkpoint {
  std::int64_t step = 0;
  std::filesystem::path path = {};
};

struct CheckpointList {
  std::vector<Checkpoint> checkpoints = {};  // complete ones, newest last
  int ignored = 0;                           // "checkpoint-..." that are incomplete or not ours
};

// A `save_dir` that does not exist holds none. Error (environment) when it cannot be read.
CheckpointList find_checkpoints(const std::filesystem::path& save_dir);

}  // namespace nadi::inline files
