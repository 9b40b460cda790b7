// Two jobs beside each other: the settings in which they differ, and their figures.
//
//   const JobComparison comparison = compare_jobs(report, other);
//   comparison.figures[0]            // steady iteration: 1.40 s, was 1.52 s
//
// `other` is the one from which the change is counted: 1.40 s against 1.52 s of the other is -7.9 %.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nadi/job_report/job_report.h"

namespace nadi::inline jobs {

struct ComparedSetting {
  std::string name = {};
  std::optional<std::string> here = {}, other = {};  // nothing means the job does not say it
};

enum class ComparedUnit { kTime, kBytes, kNumber, kPercent, kCelsius };

struct ComparedFigure {
  std::string key = {};   // "steady_ns"
  std::string name = {};  // "steady iteration"
  ComparedUnit unit = ComparedUnit::kNumber;
  bool less_is_better = true;
  std::optional<double> here = {}, other = {};

  std::optional<double> change() const;  // 0.1: a tenth more than the other
};

struct JobComparison {
  std::vector<ComparedSetting> settings = {};  // those that differ
  std::vector<ComparedFigure> figures = {};    // those that one of the two has
  // What the rules of health say of the other job, problems and warnings: a faster job that computes nonsense is no better.
  std::vector<ReportedFinding> findings = {};
};

JobComparison compare_jobs(const JobReport& report, const JobReport& other);

}  // namespace nadi::inline jobs
