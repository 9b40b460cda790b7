#include "nadi/scheduler/slurm_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(SlurmText, StatesOfAllVersions) {
  EXPECT_EQ(parse_slurm_state("PENDING"), JobState::kPending);
  EXPECT_EQ(parse_slurm_state("RUNNING"), JobState::kRunning);
  EXPECT_EQ(parse_slurm_state("COMPLETED"), JobState::kDone);
  EXPECT_EQ(parse_slurm_state("COMPLETING"), JobState::kEnding);
  EXPECT_EQ(parse_slurm_state("CANCELLED"), JobState::kCancelled);
  EXPECT_EQ(parse_slurm_state("CANCELLED by 1000"), JobState::kCancelled);
  EXPECT_EQ(parse_slurm_state("CANCELLED+"), JobState::kCancelled);  // sacct without -P cuts at ten bytes
  EXPECT_EQ(parse_slurm_state("NODE_FAIL"), JobState::kNodeFailed);
  EXPECT_EQ(parse_slurm_state("TIMEOUT"), JobState::kTimedOut);
  EXPECT_EQ(parse_slurm_state("OUT_OF_ME+"), JobState::kOutOfMemory);
  EXPECT_EQ(parse_slurm_state("REQUEUED"), JobState::kPending);
  EXPECT_EQ(parse_slurm_state("SUSPENDED"), JobState::kSuspended);
  EXPECT_EQ(parse_slurm_state("PREEMPTED"), JobState::kPreempted);
  EXPECT_EQ(parse_slurm_state("COM+"), JobState::kUnknown);  // completed or completing
  EXPECT_EQ(parse_slurm_state("SOMETHING_NEW"), JobState::kUnknown);
  EXPECT_EQ(parse_slurm_state(""), JobState::kUnknown);
}

TEST(SlurmText, Times) {
  EXPECT_EQ(parse_slurm_time("1794859037"), JobTime(std::chrono::seconds(1794859037)));
  for (const char* const none :
       {"Unknown", "None", "N/A", "", "0", "-5", "2026-11-16T19:51:42", "17948590371x"})
    EXPECT_EQ(parse_slurm_time(none), std::nullopt) << none;
}

TEST(SlurmText, Durations) {
  using std::chrono::seconds;
  EXPECT_EQ(parse_slurm_duration("0:06"), seconds(6));
  EXPECT_EQ(parse_slurm_duration("10:00"), seconds(600));
  EXPECT_EQ(parse_slurm_duration("02:03:04"), seconds(7384));  // 2 * 3600 + 3 * 60 + 4
  EXPECT_EQ(parse_slurm_duration("1-02:03:04"), seconds(86400 + 7384));
  for (const char* const none :
       {"UNLIMITED", "INVALID", "NOT_SET", "Partition_Limit", "", "5", "1-", "1:2:3:4", "a:b"})
    EXPECT_EQ(parse_slurm_duration(none), std::nullopt) << none;
}

TEST(SlurmText, ExitCodes) {
  EXPECT_EQ(parse_slurm_exit("3:0"), (SlurmExit{.code = 3, .signal = 0}));
  EXPECT_EQ(parse_slurm_exit("0:15"), (SlurmExit{.code = 0, .signal = 15}));
  for (const char* const none : {"", ":", "3", "3:", "x:0"})
    EXPECT_EQ(parse_slurm_exit(none), std::nullopt) << none;
}

TEST(SlurmText, NodeLists) {
  EXPECT_THAT(expand_node_list("n1"), Optional(ElementsAre("n1")));
  EXPECT_THAT(expand_node_list("n[1-3,08],gpu0"), Optional(ElementsAre("n1", "n2", "n3", "n08", "gpu0")));
  EXPECT_THAT(expand_node_list("n[098-101]"), Optional(ElementsAre("n098", "n099", "n100", "n101")));
  EXPECT_THAT(expand_node_list("r[1-2]n[0-1]"), Optional(ElementsAre("r1n0", "r1n1", "r2n0", "r2n1")));
  EXPECT_THAT(expand_node_list("n[1-2]-ib"), Optional(ElementsAre("n1-ib", "n2-ib")));
  for (const char* const none : {"", "(null)", "None assigned"})
    EXPECT_THAT(expand_node_list(none), Optional(IsEmpty())) << none;
  for (const char* const bad : {"n[1-", "n[1-2", "n]1[", "n[2-1]", "n[a]", "n[]", "n1,,n2", ",n1", "n1,",
                                "n[1[2]]", "a b", "$(x)", "../n1", "n1\nn2"})
    EXPECT_EQ(expand_node_list(bad), std::nullopt) << bad;
  // A few bytes must not become gigabytes.
  EXPECT_EQ(expand_node_list("n[0-18446744073709551615]"), std::nullopt);
  EXPECT_EQ(expand_node_list("a[0-99999]b[0-99999]"), std::nullopt);
}

TEST(SlurmText, Ids) {
  EXPECT_EQ(parse_slurm_id("12"), (SlurmId{.job = "12"}));
  EXPECT_EQ(parse_slurm_id("12_3"), (SlurmId{.job = "12", .task = "3"}));
  EXPECT_EQ(parse_slurm_id("12_[4-9%2]"), (SlurmId{.job = "12", .task = "[4-9%2]"}));
  EXPECT_EQ(parse_slurm_id("12_[1,3-5,...]"),
            (SlurmId{.job = "12", .task = "[1,3-5,...]"}));  // squeue cuts lists
  EXPECT_EQ(parse_slurm_id("12+1"), (SlurmId{.job = "12", .part = "1"}));
  for (const char* const bad :
       {"", "x", "12+", "12_", "12_x", "12 13", "--all", "12;13", "12_[", "12_[]", "12+1+2"})
    EXPECT_EQ(parse_slurm_id(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace nadi::inline jobs
