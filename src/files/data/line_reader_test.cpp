#include "nadi/data/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "nadi/testing/temporary_file.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines_of(std::string_view contents, Bytes longest_line = 64_MiB) {
  const TemporaryFile file("lines.txt", contents);
  LineReader reader(file.path(), longest_line);
  std::vector<std::string> lines;
  while (reader.next()) {
    lines.emplace_back(reader.line());
    EXPECT_EQ(reader.number(), static_cast<std::int64_t>(lines.size()));
  }
  EXPECT_FALSE(reader.next());
  return lines;
}

std::optional<Error> error_of(std::string_view contents, Bytes longest_line = 64_MiB) {
  try {
    lines_of(contents, longest_line);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.place().file, HasSubstr("lines.txt"));
    return error;
  }
  ADD_FAILURE() << "accepted";
  return std::nullopt;
}

TEST(LineReader, LinesWithAndWithoutEnd) {
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("a"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a\r\nb\rc\r\n"), ElementsAre("a", "b\rc"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                       "a\nb"),
              ElementsAre("a", "b"));
}

TEST(LineReader, LinesAcrossChunks) {
  // Chunks are 256 KiB: lines that begin before their end, lie over several, and end exactly there.
  const std::string chunk(std::size_t{256} << 10, 'x');
  const std::string shorter = chunk.substr(1);
  const std::string longer = chunk + chunk + "y";
  EXPECT_THAT(lines_of(shorter + "\n" + longer + "\nz\n"), ElementsAre(shorter, longer, "z"));
  EXPECT_THAT(lines_of(chunk + "\n" + chunk), ElementsAre(chunk, chunk));
}

TEST(LineReader, NamesTheByteThatIsNotUtf8) {
  const auto error = error_of(
      "good\nba\xFF"
      "d\n");
  EXPECT_EQ(error->place().byte, 7);
  EXPECT_EQ(error->message(), "line 2 is not UTF-8: byte 0xFF");
  // Far behind the first chunk, and after bytes that were let go of.
  const std::string lines(std::size_t{300'000}, '\n');
  EXPECT_EQ(error_of(lines + lines + "a\xC3")->place().byte, 600'001);
}

TEST(LineReader, RefusesLinesBeyondTheLimit) {
  EXPECT_THAT(lines_of("a\n1234\n1234", 4_B), ElementsAre("a", "1234", "1234"));
  for (const char* contents : {"a\n12345\n", "a\n12345"}) {
    const auto error = error_of(contents, 4_B);
    EXPECT_EQ(error->place().byte, 2);
    EXPECT_EQ(error->message(), "line 2 is longer than 4 B");
  }
  // A limit beyond a chunk of the file: reading stops there.
  const std::string line(std::size_t{1} << 20, 'x');
  EXPECT_EQ(error_of("a\n" + line, 300_KiB)->place().byte, 2);
}

TEST(LineReader, NamesAFileThatCannotBeRead) {
  for (const auto& [path, message] :
       {std::pair(std::filesystem::path("no/such/file.txt"), "no such file or folder"),
        std::pair(std::filesystem::temp_directory_path(), "this is a folder")}) {
    try {
      LineReader reader(path);
      reader.next();
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_EQ(error.place().file, path.string());
      EXPECT_THAT(error.message(), HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace nadi::inline files
