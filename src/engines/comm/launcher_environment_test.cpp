#include "nadi/comm/launcher_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace nadi::inline engines {
namespace {

EnvironmentLookup lookup_in(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

std::int64_t started(const std::map<std::string, std::string>& variables) {
  return ranks_started(lookup_in(variables));
}

TEST(LauncherEnvironment, of_nobody) {
  EXPECT_EQ(started({}), 0);
  EXPECT_EQ(started({{"HOME", "/root"}, {"OMP_NUM_THREADS", "2"}}), 0);
}

TEST(LauncherEnvironment, of_mpirun) {
  EXPECT_EQ(started({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "3"}}), 8);
  EXPECT_EQ(started({{"OMPI_COMM_WORLD_SIZE", "1"}}), 1);
  EXPECT_EQ(started({{"PMI_SIZE", "4"}, {"PMI_RANK", "0"}}), 4);
  EXPECT_EQ(started({{"MV2_COMM_WORLD_SIZE", "2"}}), 2);
}

// mpirun within a batch job starts as many as it was told, not as the job has.
TEST(LauncherEnvironment, of_slurm) {
  EXPECT_EQ(started({{"SLURM_NTASKS", "16"}, {"SLURM_STEP_NUM_TASKS", "16"}, {"PMIX_RANK", "5"}}), 16);
  EXPECT_EQ(started({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}}), 0) << "a batch script";
  EXPECT_EQ(started({{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 2);
}

TEST(LauncherEnvironment, of_nonsense) {
  EXPECT_EQ(started({{"PMI_SIZE", "many"}}), 0);
  EXPECT_EQ(started({{"PMI_SIZE", ""}, {"SLURM_STEP_NUM_TASKS", "3"}}), 3);
}

TEST(LauncherEnvironment, which_rank) {
  EXPECT_EQ(rank_started(lookup_in({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "3"}})), 3);
  EXPECT_EQ(rank_started(lookup_in({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}})), 0);
  // A batch script has the number of its own task, and no step.
  EXPECT_EQ(rank_started(lookup_in({{"SLURM_PROCID", "0"}})), std::nullopt);
}

TEST(LauncherEnvironment, of_torchrun) {
  const std::map<std::string, std::string> variables{
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node1"}};
  const auto found = started_by_torchrun(lookup_in(variables));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->ranks, 4);
  auto under_mpirun = variables;
  under_mpirun["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_FALSE(started_by_torchrun(lookup_in(under_mpirun)));
  auto alone = variables;
  alone["WORLD_SIZE"] = "1";
  EXPECT_FALSE(started_by_torchrun(lookup_in(alone)));
  EXPECT_FALSE(started_by_torchrun(lookup_in({{"RANK", "1"}, {"WORLD_SIZE", "4"}})));
}

TEST(LauncherEnvironment, which_on_this_host) {
  EXPECT_EQ(rank_on_host(lookup_in({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}})), 3);
  EXPECT_EQ(rank_on_host(lookup_in({{"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}})), 1);
  EXPECT_EQ(rank_on_host(lookup_in({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "0"}})), 0);
  EXPECT_EQ(rank_on_host(lookup_in({{"PMI_SIZE", "2"}})), std::nullopt) << "it does not say";
  EXPECT_EQ(rank_on_host(lookup_in({{"SLURM_LOCALID", "0"}})), std::nullopt) << "a batch script";
}

TEST(LauncherEnvironment, on_this_host) {
  EXPECT_EQ(ranks_on_host(lookup_in({{"OMPI_COMM_WORLD_SIZE", "8"}})), 0);
  EXPECT_EQ(ranks_on_host(lookup_in({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})), 4);
  EXPECT_EQ(ranks_on_host(lookup_in({{"SLURM_STEP_TASKS_PER_NODE", "3(x2),1"}})), 3);
  EXPECT_EQ(ranks_on_host(lookup_in({{"MPI_LOCALNRANKS", "-1"}})), 0);
}

}  // namespace
}  // namespace nadi::inline engines
