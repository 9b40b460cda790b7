#include "nadi/base/file_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/temporary_folder.h"

namespace nadi::inline ground {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class FileOutputTest : public testing::Test {
 protected:
  FileOutputTest() {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(descriptor_, 0);
  }
  ~FileOutputTest() override { ::close(descriptor_); }

  // Byte i of the file, whatever the pieces.
  static char expected(std::int64_t i) { return static_cast<char>(i * 2654435761u >> 13); }

  void write(FileOutput& output, std::int64_t size, std::int64_t piece) const {
    std::string bytes;
    for (std::int64_t at = 0; at < size; at += piece) {
      const std::int64_t count = std::min(piece, size - at);
      bytes.resize(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) bytes[static_cast<std::size_t>(i)] = expected(at + i);
      ASSERT_EQ(output.write(bytes), 0);
    }
  }

  void expect_contents(std::int64_t size) const {
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    ASSERT_EQ(status.st_size, size);
    std::string bytes(static_cast<std::size_t>(kMiB), '\0');
    const int file = ::open(path_.c_str(), O_RDONLY);
    for (std::int64_t at = 0; at < size;) {
      const ssize_t got = ::read(file, bytes.data(), bytes.size());
      ASSERT_GT(got, 0);
      for (ssize_t i = 0; i < got; ++i)
        ASSERT_EQ(bytes[static_cast<std::size_t>(i)], expected(at + i)) << "byte " << at + i;
      at += got;
    }
    ::close(file);
  }

  // The part of a file that lies in the page cache, from 0 to 1.
  static double cached(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY);
    struct stat status {};
    EXPECT_EQ(::fstat(file, &status), 0);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(::mincore(mapped, size, pages.data()), 0);
    std::size_t there = 0;
    for (const unsigned char page : pages) there += page & 1u;
    ::munmap(mapped, size);
    ::close(file);
    return static_cast<double>(there) / static_cast<double>(pages.size());
  }

  bool is_in_memory() const {
    constexpr long kTmpfs = 0x01021994;
    struct statfs status {};
    return ::statfs(path_.c_str(), &status) == 0 && status.f_type == kTmpfs;
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "output").string();
  int descriptor_ = -1;
};

// Around the size at which a file becomes large, in pieces that fit nothing.
TEST_F(FileOutputTest, WritesWhatItIsGiven) {
  const std::int64_t large = kLargeFile.count();
  const std::pair<std::int64_t, std::int64_t> files[] = {{0, 1},
                                                         {1, 1},
                                                         {3 * kMiB + 1, 100'003},
                                                         {large, kMiB},
                                                         {large + 1, 99},
                                                         {large + 17 * kMiB + 4097, 5 * kMiB + 7},
                                                         {large + 8 * kMiB, 100'003}};
  for (const auto& [size, piece] : files) {
    SCOPED_TRACE(size);
    ASSERT_EQ(::ftruncate(descriptor_, 0), 0);
    ASSERT_EQ(::lseek(descriptor_, 0, SEEK_SET), 0);
    FileOutput output(descriptor_);
    write(output, size, piece);
    ASSERT_EQ(output.finish(), 0);
    EXPECT_EQ(::fcntl(descriptor_, F_GETFL) & O_DIRECT, 0) << "the descriptor is as it was";
    expect_contents(size);
  }
}

TEST_F(FileOutputTest, KeepsSmallFilesInThePageCacheAndLargeOnesNot) {
  if (is_in_memory()) GTEST_SKIP() << "files in " << testing::TempDir() << " are in memory";
  for (const auto& [size, is_small] : {std::pair{8 * kMiB, true}, std::pair{160 * kMiB, false}}) {
    AtomicFile file(path_, Overwrite::kAllow);
    const std::string piece(1'000'003, 'x');
    while (file.size().count() < size) file.write(piece);
    file.commit();
    const double part = cached(path_);
    EXPECT_TRUE(is_small ? part == 1.0 : part < 0.05) << part << " of " << size << " bytes";
  }
}

TEST_F(FileOutputTest, ReportsWhatFailed) {
  const int full = ::open("/dev/full", O_WRONLY);
  FileOutput output(full);
  EXPECT_EQ(output.write("a"), 0);
  EXPECT_EQ(output.finish(), ENOSPC);
  ::close(full);
}

}  // namespace
}  // namespace nadi::inline ground
