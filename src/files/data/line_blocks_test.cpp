#include "nadi/data/line_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "nadi/base/error.h"
#include "nadi/testing/temporary_file.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<std::int64_t, std::string>> blocks_of(std::string_view contents, Bytes block,
                                                            Bytes longest_line = 1_GiB) {
  const TemporaryFile file("blocks.jsonl", contents);
  LineBlockReader reader(file.path(), {.block = block, .longest_line = longest_line});
  std::vector<std::pair<std::int64_t, std::string>> blocks;
  for (LineBlock one; reader.next(one);) blocks.emplace_back(one.first_line, one.text);
  return blocks;
}

TEST(LineBlocks, AreWholeLines) {
  EXPECT_THAT(blocks_of("", 4_B), IsEmpty());
  EXPECT_THAT(blocks_of("a\nb\nc", 4_B), ElementsAre(Pair(1, "a\nb\n"), Pair(3, "c")));
  EXPECT_THAT(blocks_of("a\nb\nc\n", 4_B), ElementsAre(Pair(1, "a\nb\n"), Pair(3, "c\n")));
  // Four bytes hold no line here: the first block grows to its end.
  EXPECT_THAT(blocks_of("123456\n\nab\n", 4_B), ElementsAre(Pair(1, "123456\n\n"), Pair(3, "ab\n")));
  EXPECT_THAT(blocks_of("123456", 4_B), ElementsAre(Pair(1, "123456")));
  EXPECT_THAT(blocks_of("a\nb\nc\n", 1_MiB), ElementsAre(Pair(1, "a\nb\nc\n")));
}

TEST(LineBlocks, AreTheFileForAnySize) {
  std::string contents;
  for (std::size_t i = 0; i < 300; ++i) contents += std::string(i * 7 % 23, 'x') + "\n";
  for (std::int64_t size = 1; size < 60; ++size) {
    std::string joined;
    std::int64_t lines = 0;
    for (const auto& [first_line, text] : blocks_of(contents, Bytes{size})) {
      EXPECT_EQ(first_line, lines + 1);
      EXPECT_TRUE(text.ends_with('\n'));
      joined += text;
      lines += std::count(text.begin(), text.end(), '\n');
    }
    EXPECT_EQ(joined, contents) << size;
  }
}

TEST(LineBlocks, SkipAByteOrderMark) {
  EXPECT_THAT(blocks_of("\xEF\xBB\xBF{}\n\xEF\xBB\xBF", 1_MiB),
              ElementsAre(Pair(1, "{}\n"), Pair(2, "\xEF\xBB\xBF")));
}

TEST(LineBlocks, RefuseALineBeyondTheLimit) {
  EXPECT_THAT(blocks_of("ab\n12345678\n", 4_B, 8_B), ElementsAre(Pair(1, "ab\n"), Pair(2, "12345678\n")));
  try {
    blocks_of("ab\n12345678901234567890\n", 4_B, 8_B);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_EQ(error.place().line, 2);
    EXPECT_EQ(error.message(), "the line is longer than 8 B");
  }
}

TEST(LineBlocks, NameAFileThatCannotBeRead) {
  for (const auto& [path, message] :
       {std::pair(std::filesystem::path("no/such/file"), "no such file or folder"),
        std::pair(std::filesystem::temp_directory_path(), "this is a folder")}) {
    try {
      LineBlock block;
      LineBlockReader(path).next(block);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(path.string() + ": " + message));
    }
  }
}

}  // namespace
}  // namespace nadi::inline files
