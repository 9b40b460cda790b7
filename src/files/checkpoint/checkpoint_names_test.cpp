#include "nadi/checkpoint/checkpoint_names.h"

#include <gtest/gtest.h>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

class CheckpointNamesTest : public FolderTest {};

TEST_F(CheckpointNamesTest, FilesOfEveryFormat) {
  for (const char* name : {"config.json", "model.safetensors", "model-00001-of-00004.safetensors",
                           "model.safetensors.index.json", "pytorch_model.bin", "training_state.json",
                           "training_state.safetensors", "tokenizer.json", "iter_0000010",
                           "iter_0000010/mp_rank_00_001/model_optim_rng.pt", "iter_0000010/__0_0.distcp",
                           "iter_0000010/.metadata", "release/mp_rank_00",
                           "latest_checkpointed_iteration.txt", "optimizer.pt", ".nadi.0.12@node.tmp"})
    EXPECT_TRUE(is_of_a_checkpoint(name)) << name;
  for (const char* name : {"notes.txt", "photos", "photos/model.safetensors", "iter_0000010/thesis.tex",
                           "config.json.mine", "checkpoint-5"})
    EXPECT_FALSE(is_of_a_checkpoint(name)) << name;
}

TEST_F(CheckpointNamesTest, FindsTheFirstStranger) {
  write_text(folder_ / "run/iter_0000001/mp_rank_00/model_optim_rng.pt", "x");
  EXPECT_FALSE(find_stranger(folder_ / "run"));
  write_text(folder_ / "run/iter_0000001/mp_rank_00/notes.txt", "x");
  EXPECT_EQ(find_stranger(folder_ / "run"), "iter_0000001/mp_rank_00/notes.txt");
  write_text(folder_ / "elsewhere/notes.txt", "x");
  fs::create_directories(folder_ / "linked");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "linked/release");
  EXPECT_FALSE(find_stranger(folder_ / "linked"));  // the link is of a checkpoint, and is not followed
}

}  // namespace
}  // namespace nadi::inline files
