// What a training run would do, found out without running it: its steps, the memory of its ranks, the files
// that it would write.
//
//   const RunPreview preview = preview_run(options, *data.train);
//   preview.total_steps, preview.stages[0].total, preview.files[0].path
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/parallel/program_summary.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {

// A pipeline stage, whose ranks all need the same.
struct StagePreview {
  std::int64_t stage = 0;
  std::vector<Rank> ranks = {};
  MemorySummary memory = {};  // by what it is for
  Bytes total = {};           // what the engine takes: on a GPU with workspaces and padding
};

struct FilePreview {
  std::filesystem::path path;           // with <step> in place of a number where there are several
  std::string what;                     // "checkpoint", "best model", "trace (Chakra)", ...
  std::int64_t count = 1;               // how many of them
  std::int64_t kept = 1;                // and how many are left at the end
  std::optional<Bytes> size_each = {};  // where it is known beforehand
};

struct RunPreview {
  std::int64_t parameters = 0;
  std::int64_t first_step = 0;  // steps that the checkpoint has done
  std::int64_t total_steps = 0;
  std::int64_t tokens =
      0;  // of the steps that are left; of samples shorter than the sequence the padding counts
  std::vector<StagePreview> stages = {};
  std::vector<FilePreview> files = {};
};

// Errors are those of train() for options that contradict each other or the plan.
RunPreview preview_run(const TrainOptions& options, const BatchSource& data);

}  // namespace nadi::inline runs
