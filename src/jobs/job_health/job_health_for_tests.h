// A job whose logs a test writes, and what the rules of health find in them.
//
//   class LeakRules : public JobHealth {};
//   TEST_F(LeakRules, ...) { write("n.out", log_line(10, 1000)); EXPECT_THAT(found(HealthRule::kLoss), IsEmpty()); }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/temporary_folder.h"
#include "nadi/job_health/job_health.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {

inline constexpr std::int64_t kNow = 1'800'000'000;

inline std::string log_line(std::int64_t number, double milliseconds, std::string_view loss = "9.5",
                            std::int64_t total = 500, std::string_view date = "", std::int64_t nan = 0) {
  return (date.empty() ? "" : " [" + std::string(date) + "]") + " iteration " + std::to_string(number) +
         "/ " + std::to_string(total) +
         " | consumed samples: 160 | elapsed time per iteration (ms): " + std::to_string(milliseconds) +
         " | learning rate: 1.5E-04 | " + (loss.empty() ? "" : "lm loss: " + std::string(loss) + " | ") +
         "number of skipped iterations: 0 | number of nan iterations: " + std::to_string(nan) + " |\n";
}

// "gpu" lines of one GPU every ten seconds until now.
inline std::string samples(int count, int percent, std::string_view rest = "49", std::int64_t used = 20000,
                           std::string_view throttle = "0x0000000000000000", int index = 0) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "gpu " + std::to_string(kNow - 10 * (count - 1 - i)) + " " + std::to_string(index) +
            ", NVIDIA A10, " + std::string(rest) + ", " + std::to_string(percent) + ", " +
            std::to_string(used) + ", 22731, " + std::string(throttle) + ", 1710, 60.1\n";
  return text;
}

class JobHealth : public testing::Test {
 protected:
  void write(const std::string& file, std::string_view text, std::int64_t modified = kNow) {
    write_text(folder_ / file, text);
    const auto age =
        std::chrono::file_clock::from_sys(std::chrono::sys_seconds{std::chrono::seconds(modified)});
    std::filesystem::last_write_time(
        folder_ / file, std::chrono::time_point_cast<std::filesystem::file_time_type::duration>(age));
  }

  JobStatus running(std::int64_t elapsed = 3600) {
    return {.id = "12",
            .state = JobState::kRunning,
            .said = "RUNNING",
            .elapsed = std::chrono::seconds(elapsed),
            .nodes = {}};
  }

  // The findings of one rule.
  std::vector<HealthFinding> found(HealthRule rule) {
    log_ = read_job_log({folder_});
    std::vector<HealthFinding> of_rule;
    for (HealthFinding& finding : job_findings({.log = log_,
                                  .status = status_,
                                  .asked = asked_,
                                  .now = std::chrono::sys_seconds{std::chrono::seconds(kNow)},
                                  .progress_seen = progress_seen_,
                                  .timers = timers_})) {
      EXPECT_THAT(finding.evidence, testing::Not(testing::IsEmpty())) << finding.text;
      if (finding.rule == rule) of_rule.push_back(std::move(finding));
    }
    return of_rule;
  }

  const TemporaryFolder folder_;
  JobLog log_;
  std::optional<JobStatus> status_;
  std::vector<AskedSetting> asked_;
  std::optional<std::chrono::sys_seconds> progress_seen_;
  std::optional<LoggedIteration> timers_;
};

}  // namespace nadi::inline jobs
