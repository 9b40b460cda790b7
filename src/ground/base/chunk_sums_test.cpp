#include "nadi/base/chunk_sums.h"

#include <gtest/gtest.h>

#include "nadi/base/crc32.h"

namespace nadi::inline ground {
namespace {

// Two and a half chunks, added in parts that cross their borders, the last part first.
TEST(ChunkSums, PartsInAnyOrder) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(kSumChunk * 5 / 2));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i ^ (i >> 9));
  const std::span<const std::byte> all(bytes);
  std::vector<std::uint32_t> expected;
  for (std::size_t at = 0; at < bytes.size(); at += kSumChunk)
    expected.push_back(
        crc32c_reference(all.subspan(at, std::min<std::size_t>(kSumChunk, bytes.size() - at))));
  ASSERT_EQ(expected.size(), 3u);
  ChunkSums sums(Bytes{static_cast<std::int64_t>(bytes.size())});
  const std::size_t cut = static_cast<std::size_t>(kSumChunk) * 3 / 2;
  sums.add(static_cast<std::int64_t>(cut), all.subspan(cut));
  sums.add(0, all.first(100));
  sums.add(parts_of_chunks(100, all.subspan(100, cut - 100)));
  EXPECT_EQ(sums.take(), expected);
}

TEST(ChunkSums, NothingHasNoSums) {
  EXPECT_TRUE(ChunkSums(Bytes{0}).take().empty());
  EXPECT_EQ(chunks_of(0), 0);
  EXPECT_EQ(chunks_of(1), 1);
  EXPECT_EQ(chunks_of(kSumChunk), 1);
  EXPECT_EQ(chunks_of(kSumChunk + 1), 2);
}

}  // namespace
}  // namespace nadi::inline ground
