#include "nadi/job_log/rank_death.h"

#include <gtest/gtest.h>

#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {
namespace {

std::string text_of(std::string_view line) {
  const auto death = rank_death_in(line);
  return death ? death->text() : "none";
}

TEST(RankDeath, IsReadFromTheWordsOfLaunchers) {
  EXPECT_EQ(text_of("srun: error: n061: task 4: Exited with exit code 1"),
            "rank 4 on n061 ended with exit code 1");
  EXPECT_EQ(text_of("srun: error: n061: tasks 4-7: Segmentation fault (core dumped)"),
            "ranks 4-7 on n061 were ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(text_of("srun: error: n1: task 0: Killed"), "rank 0 on n1 was ended by signal 9 (Killed)");
  EXPECT_EQ(text_of("srun: error: n1: task 2: Out Of Memory"), "rank 2 on n1 ran out of memory");
  EXPECT_EQ(text_of("srun: error: n1: task 2: Exited with exit code 132"),
            "rank 2 on n1 was ended by signal 4 (Illegal instruction)");
  EXPECT_EQ(
      text_of("mpirun noticed that process rank 1 with PID 4711 on node n1 exited on signal 9 (Killed)."),
      "rank 1 on n1 was ended by signal 9 (Killed)");
  EXPECT_EQ(text_of("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD with errorcode 7."),
            "rank 3 called MPI_Abort with exit code 7");
  EXPECT_EQ(text_of("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)"),
            "a rank was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(text_of("E1116 19:43:06.123000 4711 torch/distributed/elastic/multiprocessing/api.py:833] failed "
                    "(exitcode: -11) local_rank: 2 (pid: 4713) of binary: /usr/bin/python3"),
            "local rank 2 was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(text_of("error: rank 1 was ended by signal 11 (Segmentation fault)"),
            "rank 1 was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(text_of("error: rank 0 on n7 was killed because memory ran out: signal 9 (Killed)"),
            "rank 0 on n7 ran out of memory");
  EXPECT_EQ(text_of("error: rank 1 failed with exit code 3"), "rank 1 ended with exit code 3");
  EXPECT_EQ(text_of("nadi: 2026-01-31T09:05:00Z rank 1 ended with exit code 139"),
            "rank 1 was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(text_of("nadi: 2026-01-31T09:05:00Z the command ended with exit code 3"),
            "a rank ended with exit code 3");
  EXPECT_EQ(text_of("slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks "
                    "have been OOM Killed."),
            "a rank ran out of memory");
}

TEST(RankDeath, IsNotSeenElsewhere) {
  for (const std::string_view line :
       {"srun: error: n1: task 3: Terminated", "srun: Job step aborted: Waiting up to 32 seconds",
        "nadi: 2026-01-31T09:05:00Z the ranks ended with exit code 1", "rank 3 of 4 begins",
        "srun: error: n1: task 2: Exited with exit code 143", "a top rank 1 result", "nadi: rank 1"})
    EXPECT_EQ(text_of(line), "none") << line;
}

TEST(RankDeath, TheFirstOfTheNewestStartCounts) {
  const WorkingFolder folder;
  write_text("12/slurm.txt",
             "nadi: 2026-01-31T09:05:00Z start 0 of job 12\n"
             "srun: error: n9: task 7: Killed\n"
             "nadi: 2026-01-31T09:06:00Z start 1 of job 12\n"
             "srun: error: n1: task 1: Segmentation fault (core dumped)\n"
             "srun: error: n2: tasks 2-3: Killed\n");
  const auto death = find_rank_death("12");
  ASSERT_TRUE(death);
  EXPECT_EQ(death->text(), "rank 1 on n1 was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(death->place, "slurm.txt:4");
  EXPECT_EQ(death->line, "srun: error: n1: task 1: Segmentation fault (core dumped)");
  EXPECT_FALSE(find_rank_death("nowhere"));
}

TEST(RankDeath, ASignalSaysMoreThanAnExitCodeThatIsPassedOn) {
  const WorkingFolder folder;
  write_text("12/slurm.txt", "srun: error: n1: task 0: Exited with exit code 1\n");
  write_text("12/n1.err",
             "SLURM_RESTART_COUNT: 0\n"
             "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n"
             "mpirun noticed that process rank 3 with PID 4711 on node n1 exited on\nsignal 4 (Illegal "
             "instruction).\n");
  const auto death = find_rank_death("12");
  ASSERT_TRUE(death);
  EXPECT_EQ(death->text(), "rank 3 on n1 was ended by signal 4 (Illegal instruction)");
  EXPECT_EQ(death->place, "n1.err:4");
}

TEST(RankDeath, OfALongFileTheEndIsRead) {
  const WorkingFolder folder;
  std::string text(std::size_t{3} << 20, 'x');
  for (std::size_t i = 99; i < text.size(); i += 100) text[i] = '\n';
  write_text("12/n1.err", text + "\nerror: rank 2 was ended by signal 9 (Killed)\n");
  const auto death = find_rank_death("12");
  ASSERT_TRUE(death);
  EXPECT_EQ(death->place, "n1.err");
}

}  // namespace
}  // namespace nadi::inline jobs
