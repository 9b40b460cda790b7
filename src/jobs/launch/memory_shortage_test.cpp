#include "nadi/launch/memory_shortage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace nadi::inline jobs {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string message_of(const std::vector<RankMemory>& ranks) {
  const auto shortage = find_memory_shortage(ranks);
  return shortage ? shortage->message : "";
}

// Two ranks of 6 GiB each fit a machine of 12 GiB and not one of 11.
TEST(MemoryShortage, SumsTheRanksOfAMachine) {
  RankMemory rank{.machine = 1, .needed = 6 * kGiB, .state = 2 * kGiB, .machine_free = 12 * kGiB};
  EXPECT_EQ(message_of({rank, rank}), "");
  rank.machine_free = 11 * kGiB;
  EXPECT_EQ(message_of({rank}), "");
  EXPECT_THAT(
      message_of({rank, rank}),
      HasSubstr("not enough memory: the 2 ranks on this machine need 12.0 GiB, and 11.0 GiB are free"));
  RankMemory elsewhere = rank;
  elsewhere.machine = 2;
  EXPECT_EQ(message_of({rank, elsewhere}), "");
  EXPECT_THAT(message_of({rank, elsewhere, elsewhere}),
              HasSubstr("the 2 ranks on the machine of rank 1 need 12.0 GiB"));
}

TEST(MemoryShortage, CountsWhatAControlGroupAllows) {
  RankMemory rank{.machine = 1,
                  .group = 7,
                  .needed = 6 * kGiB,
                  .state = 5 * kGiB,
                  .machine_free = 64 * kGiB,
                  .group_free = 8 * kGiB,
                  .group_limit = 9 * kGiB};
  EXPECT_EQ(message_of({rank}), "");
  const std::vector<RankMemory> two{rank, rank};
  EXPECT_THAT(
      message_of(two),
      HasSubstr("need 12.0 GiB, and 8.00 GiB are free of the 9.00 GiB that its control group allows"));
  EXPECT_EQ(find_memory_shortage(two)->state, Bytes{10 * kGiB});
  EXPECT_EQ(find_memory_shortage(two)->free, Bytes{8 * kGiB});
  RankMemory beside = rank;  // a group for each rank
  beside.group = 8;
  EXPECT_EQ(message_of({rank, beside}), "");
  rank.machine_free = beside.machine_free = 10 * kGiB;
  EXPECT_THAT(message_of({rank, beside}), HasSubstr("need 12.0 GiB, and 10.0 GiB are free there"));
}

// Two ranks that share a GPU, and two with a GPU each.
TEST(MemoryShortage, SumsTheRanksOfAGpu) {
  const RankMemory rank{.machine = 1, .needed = 6 * kGiB, .machine_free = 11 * kGiB, .on_gpu = true};
  EXPECT_EQ(message_of({rank}), "");
  EXPECT_EQ(
      message_of({rank, rank}),
      "not enough memory on the GPU: the 2 ranks on this GPU need 12.0 GiB, and 11.0 GiB are free in its "
      "memory");
  RankMemory beside = rank;
  beside.machine = 2;
  EXPECT_EQ(message_of({rank, beside}), "");
  beside.machine_free = 5 * kGiB;
  EXPECT_EQ(message_of({rank, beside}),
            "not enough memory on the GPU: rank 1 needs 6.00 GiB, and 5.00 GiB are free in its memory");
}

TEST(MemoryShortage, DoesNotGuessWhereTheSystemIsSilent) {
  EXPECT_EQ(message_of({{.machine = 1, .needed = 1000 * kGiB}}), "");
}

}  // namespace
}  // namespace nadi::inline jobs
