#include "nadi/command_line/man_page.h"
#include "nadi/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/run_for_tests.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

std::string in_roff(std::string_view text) {
  std::string escaped;
  for (const char letter : text) escaped += letter == '-' ? "\\-" : std::string(1, letter);
  return escaped;
}

TEST(ManPage, OfTheProgramHasEveryCommand) {
  const std::string page = run("man").out;
  for (const CommandEntry& entry : commands()) {
    EXPECT_THAT(page, HasSubstr("\\fB" + std::string(entry.name) + "\\fR\n" + in_roff(entry.summary)));
    std::string file = man_page_file(entry);
    EXPECT_THAT(page, HasSubstr(".BR " + in_roff(file.substr(0, file.size() - 2)) + " (1)"));
  }
  EXPECT_TRUE(page.starts_with(".TH NADI 1 "));
}

TEST(ManPage, OfACommandHasEveryFlag) {
  for (const CommandEntry& entry : commands()) {
    Flags flags;
    entry.add_flags(flags);
    const std::string page = run("man " + std::string(entry.name)).out;
    for (const FlagSpec& spec : flags.specs())
      EXPECT_THAT(page, HasSubstr("\\fB" + in_roff(spec.names[0]) + "\\fR")) << entry.name;
    EXPECT_THAT(page, HasSubstr(in_roff(entry.examples[0])));
  }
}

TEST(ManPage, AllAreWritten) {
  const WorkingFolder folder;
  EXPECT_EQ(run("man --output pages").code, 0);
  EXPECT_EQ(read_text("pages/nadi.1"), run("man").out);
  EXPECT_EQ(read_text("pages/nadi-trace-collective.1"), run("man trace collective").out);
  EXPECT_EQ(run("man --output pages train").code, 2);
  EXPECT_EQ(run("man trian").err, run("trian").err);
  EXPECT_EQ(run("man train gpt2").err, "error: unexpected argument 'gpt2'\n  hint: see 'nadi man --help'\n");
}

}  // namespace
}  // namespace nadi::inline show
