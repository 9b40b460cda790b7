#include "nadi/data/scratch_file.h"

#include <gtest/gtest.h>

#include <vector>

#include "nadi/data/indexed_dataset_for_tests.h"

namespace nadi::inline files {
namespace {

class ScratchFileTest : public DatasetFolderTest {};

TEST_F(ScratchFileTest, GivesBackWhatWasWritten) {
  ScratchFile scratch(folder_);
  std::string all;
  // Two blocks and a third of one, in pieces of 5 bytes.
  while (all.size() < ScratchFile::kBlock * 7 / 3) {
    const std::string piece = std::to_string(10'000 + all.size() / 5);
    scratch.append(piece);
    all += piece;
  }
  EXPECT_EQ(scratch.size(), static_cast<std::int64_t>(all.size()));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  for (int round = 0; round < 2; ++round) {
    std::string joined;
    std::vector<std::size_t> sizes;
    scratch.for_each_block([&](std::string_view block) {
      joined += block;
      sizes.push_back(block.size());
    });
    EXPECT_EQ(joined, all);
    EXPECT_EQ(sizes,
              (std::vector{ScratchFile::kBlock, ScratchFile::kBlock, all.size() - 2 * ScratchFile::kBlock}));
  }
}

TEST_F(ScratchFileTest, MayBeEmpty) {
  ScratchFile scratch(folder_);
  scratch.for_each_block([](std::string_view) { FAIL() << "a block of nothing"; });
  EXPECT_EQ(scratch.size(), 0);
}

TEST_F(ScratchFileTest, NamesTheFolder) {
  const Error error = error_of([&] { ScratchFile(folder_ / "missing"); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_NE(std::string(error.what()).find("missing: cannot create a temporary file"), std::string::npos);
}

}  // namespace
}  // namespace nadi::inline files
