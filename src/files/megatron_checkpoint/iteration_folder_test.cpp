#include "nadi/megatron_checkpoint/iteration_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class IterationFolder : public testing::Test {
 protected:
  std::string message_of(std::optional<std::int64_t> iteration = {}) const {
    try {
      find_megatron_checkpoint(folder_.path(), iteration);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.place().file + ": " + error.message();
    }
    return "no error";
  }

  const TemporaryFolder folder_;
};

TEST_F(IterationFolder, TheTrackerFileNamesTheNewest) {
  EXPECT_FALSE(find_megatron_checkpoint(folder_.path()));
  fs::create_directories(folder_ / "iter_0000400" / "mp_rank_00_000");
  fs::create_directories(folder_ / "iter_0000500");
  write_text(folder_ / "iter_0000500" / "metadata.json", "{}");
  write_iteration_tracker(folder_.path(), 400);
  EXPECT_EQ(read_text(folder_ / kIterationTracker), "400");
  const auto found = find_megatron_checkpoint(folder_.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->iteration, 400);
  EXPECT_EQ(found->path, folder_ / "iter_0000400");
  EXPECT_EQ(found->form, MegatronForm::kTorch);
  EXPECT_FALSE(found->release);
  write_iteration_tracker(folder_.path(), 500);
  EXPECT_EQ(find_megatron_checkpoint(folder_.path())->form, MegatronForm::kTorchDist);
  EXPECT_EQ(find_megatron_checkpoint(folder_.path(), 400)->iteration, 400);
  EXPECT_FALSE(find_megatron_checkpoint(folder_.path(), 450));
  EXPECT_EQ(find_megatron_checkpoint(folder_ / "iter_0000400")->iteration, 400);
  EXPECT_EQ(find_megatron_checkpoint(folder_ / "iter_0000400/")->iteration, 400);
  EXPECT_THAT(megatron_iterations(folder_.path()), ElementsAre(400, 500));
}

TEST_F(IterationFolder, AReleaseHasNoIteration) {
  fs::create_directories(folder_ / "release" / "mp_rank_00");
  write_text(folder_ / kIterationTracker, "release\n");
  const auto found = find_megatron_checkpoint(folder_.path());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->release);
  EXPECT_EQ(found->iteration, 0);
  EXPECT_EQ(found->path, folder_ / "release");
}

TEST_F(IterationFolder, WhatTheTrackerFileNamesMustBeThere) {
  write_text(folder_ / kIterationTracker, "7");
  EXPECT_THAT(message_of(), HasSubstr("latest_checkpointed_iteration.txt: there is no folder "));
  EXPECT_THAT(message_of(), HasSubstr("iter_0000007"));
  fs::create_directories(folder_ / "iter_0000007");
  EXPECT_THAT(message_of(), HasSubstr("iter_0000007: the folder has neither metadata.json"));
  EXPECT_THAT(message_of(7), HasSubstr("it is no checkpoint of Megatron-LM"));
  write_text(folder_ / kIterationTracker, "seven");
  EXPECT_THAT(message_of(), HasSubstr("'seven' is neither the number of an iteration nor 'release'"));
  write_text(folder_ / kIterationTracker, "");
  EXPECT_THAT(message_of(), HasSubstr("'' is neither"));
  write_text(folder_ / kIterationTracker, "-3");
  EXPECT_THAT(message_of(), HasSubstr("'-3' is neither"));
}

}  // namespace
}  // namespace nadi::inline files
