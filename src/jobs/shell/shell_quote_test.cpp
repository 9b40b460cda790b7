// Hostile texts, read back by the bash of this machine.
#include "nadi/shell/shell_quote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "nadi/base/error.h"
#include "nadi/process/find_program.h"
#include "nadi/shell/hostile_texts_for_tests.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {
namespace {

using testing::HasSubstr;

TEST(ShellQuote, PlainWordsStayReadable) {
  EXPECT_EQ(shell_quote("gpt2"), "gpt2");
  EXPECT_EQ(shell_quote("--lr=1e-4"), "--lr=1e-4");
  EXPECT_EQ(shell_quote("/data/a-b_c.json"), "/data/a-b_c.json");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("~root"), "'~root'");
  EXPECT_EQ(shell_quote("=ls"), "'=ls'");
}

TEST(ShellQuote, BashReadsBackEveryHostileText) {
  if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
  const WorkingFolder folder;
  std::string script = "printf '%s\\0'";
  std::string expected;
  for (const std::string& text : hostile_texts()) {
    script += " " + shell_quote(text);
    expected += text + '\0';
  }
  write_text("script.sh", script + " >read.bin\n");
  ASSERT_EQ(std::system("bash script.sh"), 0);
  EXPECT_EQ(read_text("read.bin"), expected);
  EXPECT_FALSE(std::filesystem::exists(kHostileMark)) << "a text was executed";
}

TEST(ShellQuote, ANulCannotBeAWord) {
  EXPECT_THROW(shell_quote(std::string("a\0b", 3)), Error);
}

TEST(ShellQuote, LinesForSbatchHoldNoControlCharacters) {
  EXPECT_EQ(sbatch_quote("gpt2", "name"), "gpt2");
  EXPECT_EQ(sbatch_quote("my job", "name"), "\"my job\"");
  EXPECT_EQ(sbatch_quote("a\"b\\c", "name"), "\"a\\\"b\\\\c\"");
  for (const std::string text : {"a\nb", "a\rb", "a\tb", "\x7f"}) {
    try {
      sbatch_quote(text, "name");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.message(), HasSubstr("name is '"));
    }
  }
  EXPECT_EQ(comment_text("a\n#SBATCH --x\tb"), "a #SBATCH --x b");
}

}  // namespace
}  // namespace nadi::inline jobs
