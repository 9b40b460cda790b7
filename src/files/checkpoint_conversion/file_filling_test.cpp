#include "nadi/checkpoint_conversion/file_filling.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "nadi/base/atomic_folder.h"
#include "nadi/base/crc32.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/checkpoint_conversion/fill_schedule.h"
#include "nadi/checkpoint_conversion/memory_model_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

// A matrix of 2000 x 1000, of which two files have the left and the right half, behind one another with a
// vector; each has a header, and an ending with the checksum of its first place.
class FileFillingTest : public FolderTest {
 protected:
  static constexpr std::int64_t kRows = 2000, kColumns = 1000;

  FileFillingTest() {
    model_.add("matrix", FileDType::kF32, {kRows, kColumns});
    model_.add("vector", FileDType::kF32, {10});
    for (const std::int64_t half : {0, 1}) {
      const std::int64_t size = kRows * kColumns / 2 * 4;
      files_.push_back({.name = "part_" + std::to_string(half) + "/data",
                        .size = Bytes{4 + size + 40 + 8 + 4},
                        .ready = {{.offset = 0, .bytes = "head"}},
                        .places = {{.offset = 4,
                                    .dtype = FileDType::kF32,
                                    .blocks = {{.tensor = "matrix",
                                                .block = {.rows = kRows,
                                                          .column = half * kColumns / 2,
                                                          .columns = kColumns / 2}}}},
                                   {.offset = 4 + size,
                                    .dtype = FileDType::kF32,
                                    .blocks = {{.tensor = "vector", .block = {.rows = 10, .columns = 1}},
                                               {.block = {.rows = 2, .columns = 1}}}}},
                        .ending = [size](std::span<const std::uint32_t> sums) -> std::vector<ReadyBytes> {
                          EXPECT_EQ(sums.size(), 2u);
                          return {{.offset = 4 + size + 48,
                                   .bytes = std::string(reinterpret_cast<const char*>(&sums[0]), 4)}};
                        }});
    }
  }

  // Row by row, without parts or threads.
  static std::string expected(std::int64_t half) {
    std::string data;
    const auto append = [](std::string& out, float value) {
      out.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < kColumns / 2; ++column)
        append(data, static_cast<float>(row * kColumns + half * kColumns / 2 + column));
    const std::uint32_t sum = crc32_reference(std::as_bytes(std::span(data)));
    for (int i = 0; i < 10; ++i) append(data, static_cast<float>(i));
    for (int i = 0; i < 2; ++i) append(data, 0);
    return "head" + data + std::string(reinterpret_cast<const char*>(&sum), 4);
  }

  MemoryModel model_;
  std::vector<TargetFile> files_;
};

TEST_F(FileFillingTest, SameBytesWithAnyNumberOfThreads) {
  for (const bool views : {true, false})
    for (const int threads : {1, 3}) {
      model_.views = views;
      const auto path = folder_ / ("out" + std::to_string(threads) + (views ? "v" : "r"));
      AtomicFolder folder(path);
      std::int64_t reported = 0;
      const FillOptions options{.threads = threads, .progress = [&](Bytes done, Bytes total) {
                                  EXPECT_LE(done.count(), total.count());
                                  reported = done.count();
                                }};
      fill_files(model_, files_, folder, options);
      EXPECT_EQ(reported, filled_bytes(files_).count());
      check_files(model_, files_, folder.hidden_path(), options);
      folder.commit();
      for (const std::int64_t half : {0, 1})
        EXPECT_TRUE(read_text(path / files_[static_cast<std::size_t>(half)].name) == expected(half)) << half;
    }
}

// The source's rows come in order, and for each of them both files.
TEST_F(FileFillingTest, GoesThroughTheSource) {
  const std::vector<FillTask> tasks = fill_schedule(model_, files_);
  // 1,000,000 elements of a half are 4 MB: below 4 MiB, and so one task for each; the vector and the zeros,
  // two each.
  ASSERT_EQ(tasks.size(), 6u);
  EXPECT_EQ(tasks[0].tensor, nullptr);
  EXPECT_EQ(tasks[2].tensor->name, "matrix");
  EXPECT_EQ(tasks[2].file, 0u);
  EXPECT_EQ(tasks[3].tensor->name, "matrix");
  EXPECT_EQ(tasks[3].file, 1u);
  EXPECT_EQ(tasks[4].tensor->name, "vector");
}

TEST_F(FileFillingTest, ADifferenceIsFound) {
  AtomicFolder folder(folder_ / "out");
  fill_files(model_, files_, folder, {});
  const auto path = folder.hidden_path() / "part_1/data";
  std::string bytes = read_text(path);
  bytes[100'000] ^= 1;
  write_text(path, bytes);
  const auto error = error_of([&] { check_files(model_, files_, folder.hidden_path(), {}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->place().byte, 100'000);
  EXPECT_THAT(error->what(), HasSubstr("part_1/data"));
}

TEST_F(FileFillingTest, AMissingTensorAndABlockOutsideAreNamed) {
  files_[0].places[0].blocks[0].tensor = "matrixx";
  const auto missing = error_of([&] { fill_schedule(model_, files_); });
  ASSERT_TRUE(missing);
  EXPECT_THAT(missing->what(), HasSubstr("matrixx"));
  files_[0].places[0].blocks[0].tensor = "matrix";
  files_[0].places[0].blocks[0].block.rows = kRows + 1;
  const auto outside = error_of([&] { fill_schedule(model_, files_); });
  ASSERT_TRUE(outside);
  EXPECT_THAT(outside->what(), HasSubstr("has 2000 rows of 1000 elements; rows 0 to 2000"));
}

// More threads than cores, and tasks that are over at once: threads come to their tasks in any order.
TEST_F(FileFillingTest, ManyThreadsAndSmallTasks) {
  MemoryModel model;
  TargetFile file{.name = "data", .size = Bytes{64 * 4}};
  for (int i = 0; i < 64; ++i) {
    const std::string name = "vector " + std::to_string(i);
    model.add(name, FileDType::kF32, {1});
    file.places.push_back({.offset = i * 4,
                           .dtype = FileDType::kF32,
                           .blocks = {{.tensor = name, .block = {.rows = 1, .columns = 1}}}});
  }
  for (int round = 0; round < 50; ++round) {
    AtomicFolder folder(folder_ / std::to_string(round));
    fill_files(model, {&file, 1}, folder, {.threads = 8});
    check_files(model, {&file, 1}, folder.hidden_path(), {.threads = 8});
  }
}

// What the caller throws in progress, Ctrl-C for instance, ends the work, and nothing is left.
TEST_F(FileFillingTest, AnInterruptionEndsIt) {
  struct Stop {};
  {
    AtomicFolder folder(folder_ / "out");
    EXPECT_THROW(
        fill_files(model_, files_, folder, {.threads = 2, .progress = [](Bytes, Bytes) { throw Stop(); }}),
        Stop);
  }
  EXPECT_EQ(entries(folder_), 0);
}

// A limit of 1 MiB for files stands in for a full disk.
TEST_F(FileFillingTest, AFullDiskLeavesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit one_mebibyte{1 << 20, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &one_mebibyte);
  const auto error = error_of([&] {
    AtomicFolder folder(folder_ / "out");
    fill_files(model_, files_, folder, {.threads = 2});
  });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error->what(), HasSubstr("File too large"));
  EXPECT_EQ(entries(folder_), 0);
}

}  // namespace
}  // namespace nadi::inline files
