#include "nadi/base/checked_memory.h"

#include <gtest/gtest.h>

#include <thread>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"

namespace nadi::inline ground {
namespace {

class CheckedMemoryTest : public testing::Test {
 protected:
  static constexpr std::size_t kSize = 300'000;
  static constexpr std::int64_t kChunk = 1024;

  CheckedMemoryTest() : bytes_(kSize) {
    for (std::size_t i = 0; i < kSize; ++i) bytes_[i] = static_cast<std::byte>(i * 7 + i / 256);
  }

  CheckedMemory::Region by_chunks() const {
    CheckedMemory::Region region{
        .bytes = bytes_, .name = "w", .file = "f", .file_offset = 100, .chunk = kChunk};
    for (std::size_t at = 0; at < kSize; at += kChunk)
      region.sums.push_back(crc32c(std::span(bytes_).subspan(at, std::min<std::size_t>(kChunk, kSize - at))));
    return region;
  }
  CheckedMemory::Region as_one() const {
    return {.bytes = bytes_,
            .name = "w",
            .file = "f",
            .file_offset = 100,
            .chunk = kChunk,
            .whole = crc32(bytes_)};
  }
  std::span<const std::byte> part(std::size_t first, std::size_t size) const {
    return std::span(bytes_).subspan(first, size);
  }

  static std::string message_of(const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "";
  }

  std::vector<std::byte> bytes_;
};

// Bytes 5,000 to 5,119 lie in chunk 4, which begins with byte 4,096 of the region and 4,196 of the file.
TEST_F(CheckedMemoryTest, ChecksTheChunksThatAPartTouches) {
  CheckedMemory memory;
  memory.add(by_chunks());
  bytes_[5000] ^= std::byte{16};
  memory.check(part(0, 4096));
  memory.check(part(5120, kSize - 5120));
  memory.check_rest();  // of what was not read nobody knows
  const std::string message = message_of([&] { memory.check(part(5119, 1)); });
  EXPECT_NE(message.find("f: byte 4196: tensor 'w' is damaged: bytes 4096 to 5119 of it have the checksum"),
            std::string::npos)
      << message;
}

TEST_F(CheckedMemoryTest, OneSumOfAllIsComparedAtTheLastChunkInAnyOrder) {
  for (const bool flipped : {false, true}) {
    CheckedMemory memory;
    memory.add(as_one());
    if (flipped) bytes_[7] ^= std::byte{1};
    memory.check(part(200'000, 100'000));
    memory.check(part(0, 100'000));
    const std::string message = message_of([&] { memory.check(part(99'000, 102'000)); });
    EXPECT_EQ(message.find("tensor 'w' is damaged: bytes 0 to 299999 of it") != std::string::npos, flipped)
        << message;
  }
}

TEST_F(CheckedMemoryTest, WhatWasReadInPartIsSummedAtTheEnd) {
  CheckedMemory memory;
  memory.add(as_one());
  memory.check_rest();  // not touched
  bytes_[250'000] ^= std::byte{1};
  memory.check(part(10, 20));
  EXPECT_NE(message_of([&] { memory.check_rest(); }), "");
}

TEST_F(CheckedMemoryTest, SmallRegionsAreCheckedAtOnce) {
  CheckedMemory memory;
  const auto small = part(0, 4);
  const std::uint32_t sum = crc32(small);
  memory.add({.bytes = small, .name = "step", .file = "f", .whole = sum});
  CheckedMemory second;
  bytes_[3] ^= std::byte{128};
  EXPECT_NE(message_of([&] { second.add({.bytes = small, .name = "step", .file = "f", .whole = sum}); }), "");
}

TEST_F(CheckedMemoryTest, BytesOfNoRegionPass) {
  CheckedMemory memory;
  const std::vector<std::byte> other(5000);
  memory.check(other);
  memory.add(by_chunks());
  memory.check(other);
}

// Every byte is wrong in one place, and eight threads read all of it: at least one finds it.
TEST_F(CheckedMemoryTest, SeveralThreads) {
  for (const bool whole : {false, true}) {
    CheckedMemory memory;
    memory.add(whole ? as_one() : by_chunks());
    bytes_[123'456] ^= std::byte{2};
    std::atomic<int> found = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
          if (!message_of([&] { memory.check(bytes_); }).empty()) ++found;
        });
    }
    EXPECT_GE(found, 1);
    bytes_[123'456] ^= std::byte{2};
  }
}

}  // namespace
}  // namespace nadi::inline ground
