#include "nadi/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>

#include "nadi/checkpoint/files_for_tests.h"
#include "nadi/checkpoint/training_state.h"

namespace nadi::inline files {
namespace {

using CheckpointFolderTest = FolderTest;

TEST_F(CheckpointFolderTest, ListsCompleteOnesByStep) {
  for (const char* name : {"checkpoint-1000", "checkpoint-20", "checkpoint-3"})
    write_text(folder_ / name / kTrainingStateFile, "{}");
  write_text(folder_ / "checkpoint-5000/model.safetensors", "");       // incomplete, or another program's
  write_text(folder_ / "checkpoint-007" / kTrainingStateFile, "{}");   // not a name of ours
  write_text(folder_ / "checkpoint-best" / kTrainingStateFile, "{}");  // likewise
  write_text(folder_ / "checkpoint-", "a file");                       // likewise
  write_text(folder_ / "best_model" / kTrainingStateFile, "{}");       // something else
  const CheckpointList list = find_checkpoints(folder_);
  ASSERT_EQ(list.checkpoints.size(), 3U);
  EXPECT_EQ(list.checkpoints[0].step, 3);
  EXPECT_EQ(list.checkpoints[1].step, 20);
  EXPECT_EQ(list.checkpoints[2].step, 1000);
  EXPECT_EQ(list.checkpoints[2].path, folder_ / checkpoint_name(1000));
  EXPECT_EQ(list.ignored, 4);
}

TEST_F(CheckpointFolderTest, NoFolderHoldsNone) {
  EXPECT_TRUE(find_checkpoints(folder_ / "nowhere").checkpoints.empty());
  write_text(folder_ / "file", "");
  const auto error = error_of([&] { find_checkpoints(folder_ / "file"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace nadi::inline files
