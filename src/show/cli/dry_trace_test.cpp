// The bytes of dry traces of many plans are what they were: one hash per plan, in testdata/dry_traces.txt.
// They hold what a rank does in a step, in which order, after what and with whom, and how a trace says it.
// When a plan fails, its new line is part of the message.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/random.h"
#include "nadi/cli/run_for_tests.h"
#include "nadi/testing/source_folder.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// FNV-1a over name, a zero byte and bytes of each file of a folder, in the order of names.
std::string hash_of_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::string bytes;
  for (const fs::path& path : paths) bytes += path.filename().string() + '\0' + read_text(path);
  return format("{:016x}", site_of(bytes));
}

TEST(DryTrace, HashesOfAllPlansAreThoseOfTheTable) {
  const WorkingFolder folder;
  std::ifstream table(source_folder() / "src/show/cli/testdata/dry_traces.txt");
  ASSERT_TRUE(table.is_open());
  int plans = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("#")) continue;
    const std::string plan = line.substr(17);
    const CliRun done = run(format("trace {} -o out/x", plan));
    ASSERT_EQ(done.code, 0) << plan << "\n" << done.err;
    EXPECT_EQ(format("{} {}", hash_of_folder("out"), plan), line);
    fs::remove_all("out");
    ++plans;
  }
  EXPECT_GE(plans, 20);
}

}  // namespace
}  // namespace nadi::inline show
