#include "nadi/graph/collective_table.h"

#include <gtest/gtest.h>

namespace nadi::inline describe {
namespace {

TEST(CollectiveTable, NamesLeadBackToTheirRow) {
  for (const CollectiveFacts& facts : collectives()) {
    EXPECT_EQ(collective_with_chakra_name(facts.chakra), facts.type);
    EXPECT_EQ(collective_type_from_number(static_cast<std::int64_t>(facts.type)), facts.type);
    EXPECT_EQ(to_string(facts.type), facts.chakra);
    if (!facts.prefix.empty()) {
      EXPECT_EQ(collective_with_prefix(facts.prefix), facts.type);
    }
  }
  EXPECT_EQ(collective_with_chakra_name("SEND"), std::nullopt);
  EXPECT_EQ(collective_type_from_number(static_cast<std::int64_t>(collectives().size())), std::nullopt);
}

TEST(CollectiveTable, TheLongestPrefixCounts) {
  EXPECT_EQ(collective_with_prefix("reducescattersumf32ringll"), CollectiveType::kReduceScatter);
  EXPECT_EQ(collective_with_prefix("reducesum"), CollectiveType::kReduce);
  EXPECT_EQ(collective_with_prefix("alltoallv"), CollectiveType::kAllToAll);
  EXPECT_EQ(collective_with_prefix("send"), std::nullopt);
  EXPECT_EQ(collective_with_prefix(""), std::nullopt);
}

// As nccl-tests define them: 2 (n - 1) / n, (n - 1) / n, and 1 where one rank's links carry everything.
TEST(CollectiveTable, BusFactorsOfFourRanks) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kAllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kBroadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kReduce, 4), 1);
}

}  // namespace
}  // namespace nadi::inline describe
