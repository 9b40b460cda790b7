#include "nadi/cuda/device_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "nadi/comm/single_process.h"
#include "nadi/comm/thread_world_for_tests.h"

namespace nadi::inline engines::cuda {
namespace {

using testing::Each;
using testing::HasSubstr;

EnvironmentLookup environment_with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(DeviceSharing, a_rank_takes_the_device_with_its_number_on_the_host) {
  const auto sixth = environment_with(
      {{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}});
  EXPECT_EQ(device_of_rank(sixth, 4), 2);
  EXPECT_EQ(device_of_rank(sixth, 2), 0) << "2 modulo 2";
  EXPECT_EQ(device_of_rank(sixth, 1), 0);
  const auto of_srun =
      environment_with({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "5"}, {"SLURM_LOCALID", "1"}});
  EXPECT_EQ(device_of_rank(of_srun, 4), 1);
  EXPECT_EQ(device_of_rank(environment_with({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}}), 4), 3)
      << "the launcher does not say which one on the host";
  EXPECT_EQ(device_of_rank(environment_with({}), 4), 0) << "nobody launched it";
}

DeviceIdentity device_number(int number, bool nccl = true) {
  DeviceIdentity identity{.nccl = nccl};
  identity.uuid[15] = static_cast<std::byte>(number);
  return identity;
}

// What ranks say that have these devices.
std::vector<std::string> reasons(const std::vector<DeviceIdentity>& devices) {
  ThreadWorld world(static_cast<std::int64_t>(devices.size()));
  std::vector<std::string> said(devices.size());
  for (const auto& error : world.run([&](Communicator& rank) {
         const auto number = static_cast<std::size_t>(to_number(rank.rank()));
         said[number] = why_through_host(rank, devices[number]);
       }))
    EXPECT_FALSE(error) << error->what();
  return said;
}

TEST(DeviceSharing, ranks_with_devices_of_their_own_use_nccl) {
  EXPECT_THAT(reasons({device_number(0), device_number(1), device_number(2)}), Each(""));
  SingleProcess alone;
  EXPECT_EQ(why_through_host(alone, device_number(0)), "");
}

TEST(DeviceSharing, ranks_that_share_a_device_say_so) {
  EXPECT_THAT(reasons({device_number(7), device_number(7)}), Each(HasSubstr("2 ranks share 1 GPU:")));
  EXPECT_THAT(reasons({device_number(0), device_number(1), device_number(0)}),
              Each(HasSubstr("3 ranks share 2 GPUs:")));
}

TEST(DeviceSharing, a_rank_without_nccl_is_named) {
  EXPECT_THAT(reasons({device_number(0), device_number(1, false)}),
              Each(HasSubstr("rank 1 does not find NCCL")));
}

TEST(DeviceSharing, tests_let_ranks_that_share_a_device_use_nccl) {
  ThreadWorld world(2);
  for (const auto& error : world.run([&](Communicator& rank) {
         EXPECT_EQ(why_through_host(rank, device_number(7), /*shared_too=*/true), "");
         EXPECT_THAT(why_through_host(rank, device_number(7, to_number(rank.rank()) == 0), true),
                     HasSubstr("rank 1 does not find NCCL"));
       }))
    EXPECT_FALSE(error) << error->what();

  EXPECT_TRUE(nccl_on_shared_gpu(environment_with({})).empty());
  const auto third = nccl_on_shared_gpu(environment_with(
      {{"NADI_TEST_NCCL", "shared-gpu"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}));
  EXPECT_THAT(third, testing::Contains(testing::Pair("NCCL_HOSTID", "nadi-rank-3")));
  EXPECT_THAT(third, testing::Contains(testing::Pair("NCCL_SOCKET_IFNAME", "lo")));
  EXPECT_THROW(nccl_on_shared_gpu(environment_with({{"NADI_TEST_NCCL", "yes"}})), Error);
}

}  // namespace
}  // namespace nadi::inline engines::cuda
