#include "nadi/checkpoint_conversion/open_checkpoint.h"

#include <gmock/gmock.h>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

class OpenCheckpointTest : public FolderTest {};

TEST_F(OpenCheckpointTest, FormatsByTheirNames) {
  write_text(folder_ / "hf/config.json", "{}");
  EXPECT_EQ(checkpoint_format(folder_ / "hf"), CheckpointFormat::kHuggingFace);
  write_text(folder_ / "ours/config.json", "{}");
  write_text(folder_ / "ours/training_state.json", "{}");
  EXPECT_EQ(checkpoint_format(folder_ / "ours"), CheckpointFormat::kNadi);
  write_text(folder_ / "mega/latest_checkpointed_iteration.txt", "7");
  write_text(folder_ / "mega/iter_0000007/mp_rank_00/model_optim_rng.pt", "x");
  EXPECT_EQ(checkpoint_format(folder_ / "mega"), CheckpointFormat::kMegatron);
  EXPECT_EQ(checkpoint_format(folder_ / "mega/iter_0000007"), CheckpointFormat::kMegatron);
}

TEST_F(OpenCheckpointTest, WhatIsNoCheckpoint) {
  write_text(folder_ / "photos/cat.jpg", "x");
  const auto folder = error_of([&] { open_checkpoint(folder_ / "photos"); });
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->kind(), ErrorKind::kInput);
  EXPECT_THAT(folder->what(), HasSubstr("the folder is no checkpoint"));
  EXPECT_TRUE(error_of([&] { open_checkpoint(folder_ / "photos/cat.jpg"); }));
  EXPECT_TRUE(error_of([&] { open_checkpoint(folder_ / "nowhere"); }));
}

}  // namespace
}  // namespace nadi::inline files
