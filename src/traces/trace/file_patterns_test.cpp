#include "nadi/trace/file_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

TEST(FilePatterns, InTheOrderOfTheNumbers) {
  const WorkingFolder folder;
  for (const char* name : {"run.10.et", "run.2.et", "run.0.et", "run.x.et", "other.1.et", "a[1].et"})
    write_text(name, "");
  const auto expanded = [](const std::vector<std::string>& words) { return expand_files(words); };
  EXPECT_THAT(expanded({"run.*.et"}), ElementsAre("run.0.et", "run.2.et", "run.10.et", "run.x.et"));
  EXPECT_THAT(expanded({"run.?.et", "missing.et"}),
              ElementsAre("run.0.et", "run.2.et", "run.x.et", "missing.et"));
  EXPECT_THAT(expanded({"a[1].et"}), ElementsAre("a[1].et"));  // there is such a file
  EXPECT_THAT(expanded({"run.[01]*.et"}), ElementsAre("run.0.et", "run.10.et"));
}

// What a simulator is given as the name of a run, and what a run on one rank leaves.
TEST(FilePatterns, TheStartOfTheNamesOfAllRanks) {
  const WorkingFolder folder;
  for (const char* name : {"run.10.et", "run.2.et", "run.et", "run.x.et", "one.et", "a*.0.et", "run.0.et.gz"})
    write_text(name, "");
  const auto expanded = [](const std::vector<std::string>& words) { return expand_traces(words); };
  EXPECT_THAT(expanded({"run", "one"}), ElementsAre("run.2.et", "run.10.et", "one.et"));
  EXPECT_THAT(expanded({"run.et", "run.*.et"}), ElementsAre("run.et", "run.2.et", "run.10.et", "run.x.et"));
  EXPECT_THAT(expanded({"a*"}), ElementsAre("a*.0.et"));
  EXPECT_THAT(expanded({"missing"}), ElementsAre("missing"));
}

TEST(FilePatterns, NothingFits) {
  const WorkingFolder folder;
  const std::vector<std::string> words{"run.*.et"};
  EXPECT_THROW(
      {
        try {
          expand_files(words);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kUsage);
          EXPECT_EQ(error.message(), "no file matches 'run.*.et'");
          throw;
        }
      },
      Error);
}

}  // namespace
}  // namespace nadi::inline traces
