#include "nadi/job_report/job_comparison.h"

#include <gtest/gtest.h>

#include "nadi/job_report/job_report.h"

namespace nadi::inline jobs {
namespace {

SettingRow row_of(std::string name, std::string value) {
  return {.name = name, .in_effect = {{.text = std::move(value), .printed_as = name, .nodes = {"n1"}}}};
}

const ComparedFigure* figure_of(const JobComparison& comparison, std::string_view key) {
  for (const ComparedFigure& figure : comparison.figures)
    if (figure.key == key) return &figure;
  return nullptr;
}

TEST(JobComparison, HasWhatDiffers) {
  JobReport here, other;
  // Every job has a number and a port of its own: no setting.
  here.settings = {row_of("DP_SIZE", "4"), row_of("MODEL", "gpt2xl"), row_of("ZERO", "1"),
                   row_of("JOB_ID", "7"), row_of("MASTER_PORT", "20007")};
  other.settings = {row_of("DP_SIZE", "8"), row_of("MODEL", "gpt2xl"), row_of("NSYS", "true"),
                    row_of("JOB_ID", "8"), row_of("MASTER_PORT", "20008")};
  here.steady = {.lines = 3, .mean = Nanoseconds{1'400'000'000}};
  other.steady = {.lines = 3, .mean = Nanoseconds{1'600'000'000}};
  // Both have iteration 20; iteration 30 only one of them.
  here.points = {IterationPoint{.last = 20, .loss = 2.0}, IterationPoint{.last = 30, .loss = 1.0}};
  other.points = {IterationPoint{.last = 20, .loss = 2.5}};
  const JobComparison comparison = compare_jobs(here, other);
  ASSERT_EQ(comparison.settings.size(), 3u);
  EXPECT_EQ(comparison.settings[0].name, "DP_SIZE");
  EXPECT_EQ(comparison.settings[0].here, "4");
  EXPECT_EQ(comparison.settings[0].other, "8");
  EXPECT_EQ(comparison.settings[1].other, std::nullopt) << "ZERO is said by one job only";
  EXPECT_EQ(comparison.settings[2].here, std::nullopt);
  const ComparedFigure* steady = figure_of(comparison, "steady_ns");
  ASSERT_NE(steady, nullptr);
  EXPECT_DOUBLE_EQ(*steady->change(), 1.4 / 1.6 - 1);
  const ComparedFigure* loss = figure_of(comparison, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->name, "loss at iteration 20");
  EXPECT_EQ(loss->here, 2.0);
  EXPECT_EQ(loss->other, 2.5);
  EXPECT_EQ(figure_of(comparison, "tflops_per_rank"), nullptr) << "neither job has it";
}

TEST(JobComparison, LossesOfDifferentIterationsAreNotCompared) {
  JobReport here, other;
  here.points = {IterationPoint{.last = 20, .loss = 2.0}};
  other.points = {IterationPoint{.last = 25, .loss = 2.5}};
  EXPECT_EQ(figure_of(compare_jobs(here, other), "loss"), nullptr);
}

}  // namespace
}  // namespace nadi::inline jobs
