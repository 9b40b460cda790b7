// Checkpoints of Megatron-LM that a run starts from or leaves.
//
//   const auto model = open_if_megatron(options.resume_from);       // nullptr: a folder of ours
//   save_for_megatron(ours, step, options);                         // writes save_dir/iter_<step>
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "nadi/base/checked_memory.h"

namespace nadi::inline files {
class WholeModel;
}  // namespace nadi::inline files

namespace nadi::inline runs {

struct TrainOptions;

// The folder of an iteration, of either form. nullptr for any other folder, and for no path at all.
std::unique_ptr<WholeModel> open_if_megatron(const std::filesystem::path& folder,
                                             Verify verify = Verify::kYes);

// Writes what the folder `ours` holds, a checkpoint in our form, as the iteration `step` of options.save_dir:
// in the files that the plan of the run has there, then the tracker file. Beside the files stands our
// training_state.json, which Megatron does not look at, with what it has no place for.
void save_for_megatron(const std::filesystem::path& ours, std::int64_t step, const TrainOptions& options);

// Before the first step. Error (usage) for what Megatron's files cannot hold: the state of an optimizer that
// it does not have, a plan that it cannot split so.
void check_savable_for_megatron(const TrainOptions& options);

}  // namespace nadi::inline runs
