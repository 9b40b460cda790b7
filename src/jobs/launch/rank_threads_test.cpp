#include "nadi/launch/rank_threads.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nadi::inline jobs {
namespace {

int threads_with(std::map<std::string, std::string> variables) {
  return threads_of_rank([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RankThreads, AreAShareOfTheCoresUnlessEachRankHasItsOwn) {
  EXPECT_EQ(threads_with({}), 0);
  EXPECT_EQ(threads_with({{"NADI_THREADS", "3"}}), 3);
  EXPECT_EQ(threads_with({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4096"}}), 1);
  // mpirun --cpus-per-rank 15: the rank sees its 15 cores alone, which are not to be shared again.
  EXPECT_EQ(threads_with({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4096"}, {"OMPI_MCA_orte_bound_at_launch", "1"}}),
            0);
}

}  // namespace
}  // namespace nadi::inline jobs
