#include "nadi/input/read_progress.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline ground {
namespace {

TEST(ReadProgress, CountsBytesOfAllFiles) {
  const WorkingFolder folder;
  write_text("a", std::string(10, 'a'));
  write_text("b", std::string(30, 'b'));
  std::vector<std::pair<std::int64_t, std::int64_t>> told;
  const std::vector<std::filesystem::path> files{"a", "missing", "b"};
  ReadProgress progress(files,
                        [&](Bytes done, Bytes total) { told.emplace_back(done.count(), total.count()); });
  progress.begin("a");
  progress.within_file()(4);
  progress.begin("missing");
  progress.within_file()(4);
  progress.begin("b");
  progress.within_file()(100);  // packed: it has no more than its size
  progress.tick();
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 40},  {4, 40},  {10, 40}, {10, 40},
                                                                    {10, 40}, {40, 40}, {40, 40}};
  EXPECT_EQ(told, expected);
}

TEST(ReadProgress, TellsNobodyWhereNobodyAsks) {
  ReadProgress progress({}, {});
  progress.begin("a");
  progress.within_file()(1);
  progress.tick();
}

}  // namespace
}  // namespace nadi::inline ground
