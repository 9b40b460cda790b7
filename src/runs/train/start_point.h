// Where a run starts from: random weights, the weights in a folder, or a checkpoint that it continues.
//
//   const StartPoint start = find_start({.save_dir = "run", .resume = true});
//   options.resume_from = start.resume_from;
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/checked_memory.h"
#include "nadi/checkpoint/checkpoint_folder.h"

namespace nadi::inline runs {

// Empty paths: not given.
struct StartRequest {
  std::filesystem::path model = {};      // the model as it was named: may be a folder with weights
  std::filesystem::path init_from = {};  // weights to start from, rather than those of the model
  std::filesystem::path save_dir = {};   // the run's own folder
  bool resume = false;                   // continue from the newest checkpoint in save_dir, if there is one
  bool must_resume = false;              // with resume: not starting from the beginning

  // Another folder with checkpoints, or with weights alone, for a run that does not continue its own.
  std::filesystem::path load = {};
  std::optional<std::int64_t> load_step = {};  // rather than the newest
  bool load_weights_only = false;              // start from the weights of its checkpoint, at step 0
  bool must_load = false;                      // not starting from the beginning
  Verify verify = Verify::kYes;                // of what is opened
};

enum class StartProblem : std::uint8_t {
  kNone,
  kNoCheckpointOfStep,  // `load` has no checkpoint after load_step
  kNothingToLoad,       // must_load, and there is no checkpoint
  kNothingToContinue,   // must_resume, and there is no checkpoint
  kForeignCheckpoints,  // save_dir has checkpoints of another run, which this one would overwrite
};

struct StartPoint {
  std::filesystem::path init_from = {};
  std::filesystem::path resume_from = {};
  // resume_from has no optimizer state, and this run continues it with a new optimizer.
  bool new_optimizer = false;
  bool continues_own = false;           // resume_from is the newest checkpoint in save_dir, as `resume` asks
  std::vector<std::string> notes = {};  // for the user
  // Where there is one, the caller decides whether that is an error. kForeignCheckpoints leaves the paths
  // valid.
  StartProblem problem = StartProblem::kNone;
  std::vector<Checkpoint> own = {};  // complete checkpoints in save_dir, newest last
};
StartPoint find_start(const StartRequest& request);

}  // namespace nadi::inline runs
