#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/temporary_folder.h"
#include "nadi/report/watch_report.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline show {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

// Characters, without escape codes.
std::size_t width_of(const std::string& line) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\033') {
      while (at < line.size() && line[at] != 'm') ++at;
      continue;
    }
    width += (static_cast<unsigned char>(line[at]) & 0xC0) != 0x80 ? 1 : 0;
  }
  return width;
}

class WatchScreen : public testing::Test {
 protected:
  WatchScreen() {
    for (int i = 0; i < 64; ++i) {
      const std::string name = "n" + std::to_string(100 + i);
      write_text(folder_ / (name + ".out"),
                 "NODE_RANK: " + std::to_string(i) + "\n\033[2Jrubbish größer 漢字\n" +
                     std::string(300, 'x') + "\n" +
                     (i == 63 ? " iteration 120/ 500 | elapsed time per iteration (ms): 1400.0 | lm loss: "
                                "9.25 | number of nan iterations:   0 |\n"
                              : ""));
      write_text(folder_ / (name + ".gpu"), "[0] NVIDIA A10 | 49'C, 97 % | 20000 / 22731 MB | user(1M)\n");
    }
    write_text(folder_ / "n107.err", "RuntimeError: CUDA error 700\n");
    log_ = read_job_log({folder_});
  }

  WatchedState state() {
    // An hour after the files were written.
    const JobObservation seen{
        .log = log_,
        .now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) +
               std::chrono::hours(1)};
    return {.log = log_,
            .title = "job 12 (gpt2)",
            .progress = progress_of(seen),
            .findings = job_findings(seen),
            .runs = true,
            .now = seen.now};
  }

  const TemporaryFolder folder_;
  JobLog log_;
};

TEST_F(WatchScreen, FitsEverySize) {
  for (const std::size_t columns : {20U, 40U, 80U, 132U, 300U})
    for (const std::size_t rows : {1U, 2U, 5U, 10U, 24U, 60U, 200U})
      for (const bool errors : {false, true})
        for (const std::size_t node : {0U, 31U, 63U, 99U}) {
          const std::vector<std::string> lines =
              watch_screen(state(), {.columns = columns, .rows = rows, .node = node, .errors = errors});
          ASSERT_EQ(lines.size(), rows);
          for (const std::string& line : lines) ASSERT_LE(width_of(line), columns) << line;
        }
}

TEST_F(WatchScreen, ShowsTheJobAndTheChosenNode) {
  const std::vector<std::string> lines = watch_screen(state(), {.colour = false, .node = 63});
  EXPECT_THAT(lines[0], StartsWith("job 12 (gpt2)"));
  EXPECT_THAT(lines[0], HasSubstr("running"));
  EXPECT_EQ(lines[1], "iteration 120 of 500 [######..................] 24 %, 8 min left");
  EXPECT_EQ(lines[2], "1.40 s each   loss 9.2500");
  EXPECT_EQ(lines[3], "GPUs 97 %, memory 19.5 of 22.2 GiB");
  EXPECT_THAT(lines,
              Contains(HasSubstr("problem (n107.err:1): error on n107: RuntimeError: CUDA error 700")));
  EXPECT_THAT(lines, Contains(HasSubstr("> n163")));
  EXPECT_THAT(lines, Contains(HasSubstr("of 64")));
  EXPECT_THAT(lines, Contains(HasSubstr("iteration 120/ 500 | elapsed")));
  EXPECT_THAT(lines.back(), StartsWith("q quit"));
  for (const std::string& line : lines)
    EXPECT_EQ(line.find("\033["), line.find("\033[7m")) << "no colours, but the cursor";
}

TEST_F(WatchScreen, ShowsErrors) {
  const std::vector<std::string> lines = watch_screen(state(), {.colour = false, .errors = true});
  EXPECT_THAT(lines, Contains("errors on stderr: 1 kinds"));
  EXPECT_THAT(lines, Contains(HasSubstr("1 x error n107.err:1 : RuntimeError: CUDA error 700")));
}

TEST_F(WatchScreen, TimeIsShownFromTheStartOn) {
  WatchedState seen = state();
  seen.status = JobStatus{.id = "12", .state = JobState::kPending, .reason = "Resources"};
  seen.status->limit = std::chrono::hours(1);
  EXPECT_THAT(watch_screen(seen, {.colour = false})[0], testing::EndsWith(" pending: Resources"));
  seen.status->state = JobState::kDone;  // within the first second
  EXPECT_THAT(watch_screen(seen, {.colour = false})[0], testing::EndsWith(" done 0:00:00 of 1:00:00"));
}

TEST_F(WatchScreen, OneLine) {
  EXPECT_EQ(watch_line(state()),
            "running, iteration 120 of 500, 1.40 s each, 8 min left, loss 9.2500, GPUs 97 %, memory 19.5 of "
            "22.2 GiB, 2 problems");
}

}  // namespace
}  // namespace nadi::inline show
