#include "nadi/base/positioned_file.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline ground {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kPart = 1'000'003;  // no multiple of a page
constexpr std::int64_t kParts = 80;

std::string part_text(std::int64_t part) {
  return std::string(kPart, static_cast<char>('0' + part % 64));
}

class PositionedFileTest : public FolderTest {};

TEST_F(PositionedFileTest, PartsInAnyOrder) {
  PositionedFile file(folder_ / "a", Bytes{10});
  file.write_at(7, "hij");
  file.write_at(0, "abc");
  file.write_at(3, "defg");
  file.close();
  EXPECT_EQ(read_text(folder_ / "a"), "abcdefghij");
}

// Four threads, each every fourth part; more than waits in memory, so that parts are dropped on the way.
TEST_F(PositionedFileTest, SeveralThreads) {
  static_assert(kPart * kParts > PositionedFile::kUnwritten.count());
  {
    PositionedFile file(folder_ / "a", Bytes{kPart * kParts});
    std::vector<std::thread> threads;
    for (std::int64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&file, thread] {
        for (std::int64_t part = thread; part < kParts; part += 4)
          file.write_at(part * kPart, part_text(part));
      });
    for (std::thread& thread : threads) thread.join();
  }
  const std::string text = read_text(folder_ / "a");
  ASSERT_EQ(text.size(), static_cast<std::size_t>(kPart * kParts));
  for (std::int64_t part = 0; part < kParts; ++part)
    EXPECT_TRUE(text.substr(static_cast<std::size_t>(part * kPart), kPart) == part_text(part)) << part;
}

TEST_F(PositionedFileTest, AnExistingFileStays) {
  write_text(folder_ / "a", "theirs");
  const auto error = error_of([&] { PositionedFile(folder_ / "a", Bytes{4}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_EQ(read_text(folder_ / "a"), "theirs");
}

// No disk has 2^60 bytes; the file is gone again.
TEST_F(PositionedFileTest, AFullDiskIsNoticedAtOnce) {
  const auto error = error_of([&] { PositionedFile(folder_ / "a", Bytes{std::int64_t{1} << 60}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr("cannot reserve 1152921504606846976 bytes"));
  EXPECT_EQ(entries(folder_), 0);
}

}  // namespace
}  // namespace nadi::inline ground
