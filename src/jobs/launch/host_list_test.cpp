#include "nadi/launch/host_list.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline jobs {
namespace {

TEST(HostList, AddsUpRanks) {
  EXPECT_EQ(ranks_on("a"), 1);
  EXPECT_EQ(ranks_on("a:2,b"), 3);
  EXPECT_EQ(ranks_on("a:2,b:1048576"), 1048578);
}

TEST(HostList, RefusesWhatIsNoHost) {
  for (const char* hosts : {"", ":2", "a:", "a:0", "a:x", "a:2,", "a:1048577", "a:2x"})
    EXPECT_THROW(ranks_on(hosts), Error) << hosts;
}

}  // namespace
}  // namespace nadi::inline jobs
