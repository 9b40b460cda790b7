#include "nadi/base/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline ground {
namespace {

using testing::HasSubstr;

TEST(MemoryLimit, GrowsWithTheFile) {
  EXPECT_EQ(MemoryLimit().for_file("a.et", 0).most(), 512_MiB);
  // 512 MiB + 64 * 1 MiB
  EXPECT_EQ(MemoryLimit().for_file("a.et", 1 << 20).most(), 576_MiB);
  EXPECT_EQ(MemoryLimit().for_file("a.et", std::uint64_t{1} << 62).most().count(), INT64_MAX);
  EXPECT_EQ(MemoryLimit(Bytes{100}).for_file("a.et", 1 << 20).most().count(), 100);
}

TEST(MemoryLimit, GrowsWithWhatHasComeOutOfAPipe) {
  std::uint64_t read = 0;
  const MemoryAllowance allowed = MemoryLimit().for_pipe("-", &read);
  EXPECT_EQ(allowed.most(), 512_MiB);
  try {
    allowed.expect(576_MiB, 5, "the trace");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "-: byte 5: the trace takes 576 MiB of memory up to here; the limit after 0 B of this pipe "
                 "is 512 MiB");
  }
  read = 1 << 20;
  EXPECT_EQ(allowed.most(), 576_MiB);
  allowed.expect(576_MiB, 5, "the trace");
  EXPECT_EQ(MemoryLimit(Bytes{100}).for_pipe("-", &read).most().count(), 100);
}

TEST(MemoryLimit, NamesFilePlaceSizeAndLimit) {
  const MemoryAllowance allowed = MemoryLimit(1_MiB).for_file("a.et.gz", 2048);
  allowed.expect(1_MiB, 5, "the trace");
  try {
    allowed.expect(2_MiB, 5, "the trace");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_STREQ(error.what(),
                 "a.et.gz: byte 5: the trace takes 2.00 MiB of memory up to here; the limit for this file of "
                 "2.00 KiB is 1.00 MiB");
    EXPECT_THAT(error.hint(), HasSubstr("allow more memory"));
  }
}

// 512 MiB / 64 = 8 MiB: any record of an uncompressed file can be decoded, since the file counts too.
TEST(MemoryLimit, LongestRecord) {
  EXPECT_EQ(MemoryLimit().for_file("a.et", 0).longest_record(), std::uint64_t{8} << 20);
  EXPECT_EQ(MemoryLimit().for_file("a.et", 100).longest_record(), (std::uint64_t{8} << 20) + 100);
  const std::uint64_t read = 0;
  EXPECT_GT(MemoryLimit().for_pipe("-", &read).longest_record(), std::uint64_t{1} << 40);
}

}  // namespace
}  // namespace nadi::inline ground
