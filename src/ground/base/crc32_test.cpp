#include "nadi/base/crc32.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace nadi::inline ground {
namespace {

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The check value of every catalogue of CRCs.
TEST(Crc32, CheckValue) {
  EXPECT_EQ(crc32_reference(bytes_of_text("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes_of_text("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32c_reference(bytes_of_text("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(bytes_of_text("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32, AllWaysAgreeForEveryLengthAndPlace) {
  std::mt19937 random(1);
  std::vector<std::byte> data(7000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  // Every length to some hundreds, then some: the longest step takes 3 KiB at once.
  for (std::size_t size = 0; size <= 6900; size += size < 1100 ? 1 : 61) {
    const std::span<const std::byte> part = std::span(data).subspan(size % 17, size);
    const auto before = static_cast<std::uint32_t>(random());
    const std::uint32_t zip = crc32_reference(part, before), castagnoli = crc32c_reference(part, before);
    EXPECT_EQ(crc32(part, before), zip) << size;
    EXPECT_EQ(crc32c(part, before), castagnoli) << size;
    for (const CrcWay& way : crc_ways()) {
      EXPECT_EQ(way.crc32(part, before), zip) << way.name << ", " << size;
      EXPECT_EQ(way.crc32c(part, before), castagnoli) << way.name << ", " << size;
    }
  }
}

TEST(Crc32, PartsPutTogether) {
  std::vector<std::byte> data(5000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * i);
  const std::span<const std::byte> all(data);
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{4096}, data.size()}) {
    const std::uint32_t first = crc32(all.first(cut));
    const auto second = all.subspan(cut);
    EXPECT_EQ(crc32(second, first), crc32(all)) << cut;
    EXPECT_EQ(crc32_of_both(first, crc32(second), second.size()), crc32(all)) << cut;
    EXPECT_EQ(crc32c_of_both(crc32c(all.first(cut)), crc32c(second), second.size()), crc32c(all)) << cut;
  }
}

}  // namespace
}  // namespace nadi::inline ground
