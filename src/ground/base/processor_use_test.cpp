#include "nadi/base/processor_use.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

constexpr std::string_view kStat =
    "cpu  100 20 30 4000 50 6 7 80 9 0\n"
    "cpu0 60 10 20 2000 25 3 4 50 9 0\n"
    "cpu1 40 10 10 2000 25 3 3 30 0 0\n"
    "intr 1234 5 6\n";

TEST(ProcessorUse, SumsTheProcessorsThatCount) {
  const auto both = read_processor_lines(kStat, [](int) { return true; });
  ASSERT_TRUE(both);
  EXPECT_EQ(both->processors, 2);
  // user + nice + system + irq + softirq: 60+10+20+3+4 and 40+10+10+3+3 ticks of 10 ms.
  EXPECT_EQ(both->busy, Nanoseconds{(97 + 66) * 10'000'000LL});
  EXPECT_EQ(both->stolen, Nanoseconds{80 * 10'000'000LL});
  const auto second = read_processor_lines(kStat, [](int processor) { return processor == 1; });
  ASSERT_TRUE(second);
  EXPECT_EQ(second->processors, 1);
  EXPECT_EQ(second->stolen, Nanoseconds{30 * 10'000'000LL});
}

TEST(ProcessorUse, TakesNoPartOfALineAndNothingElse) {
  const auto all = [](int) { return true; };
  EXPECT_FALSE(read_processor_lines("", all));
  EXPECT_FALSE(read_processor_lines("intr 1 2 3\n", all));
  EXPECT_FALSE(read_processor_lines("cpu0 1 2", all)) << "the line has no end";
  const auto old = read_processor_lines("cpu0 1 2 3 4\n", all);
  ASSERT_TRUE(old) << "a system that does not count stolen time";
  EXPECT_EQ(old->stolen, Nanoseconds{});
}

TEST(ProcessorUse, MoreThanTwoPercentDisturb) {
  // In 4 s, 30 ms stolen and 3.95 - 3.9 = 50 ms of others: 80 ms are 2%.
  ProcessorUse use{.elapsed = Nanoseconds{4'000'000'000},
                   .stolen = Nanoseconds{30'000'000},
                   .busy = Nanoseconds{3'950'000'000},
                   .own = Nanoseconds{3'900'000'000}};
  EXPECT_DOUBLE_EQ(disturbed_share(use), 0.02);
  EXPECT_FALSE(disturbed_share(use) > kDisturbed);
  use.stolen += Nanoseconds{10'000'000};
  EXPECT_TRUE(disturbed_share(use) > kDisturbed);
  EXPECT_TRUE(can_be_judged(use));
  // Ticks may say less than the process has used: no others then.
  use.own = Nanoseconds{3'960'000'000};
  EXPECT_DOUBLE_EQ(disturbed_share(use), 0.01);
  EXPECT_DOUBLE_EQ(disturbed_share({}), 0);
  EXPECT_FALSE(can_be_judged({.elapsed = Nanoseconds{1'999'999'999}}));
}

TEST(ProcessorUse, CountsWhatThisProcessDoes) {
  const auto before = processor_use_so_far();
  if (!before) GTEST_SKIP() << "the system does not say what its processors do";
  volatile double sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
  const ProcessorUse during = *processor_use_so_far() - *before;
  EXPECT_GT(during.own, Nanoseconds{});
  EXPECT_GE(during.elapsed, during.own);
}

}  // namespace
}  // namespace nadi::inline ground
