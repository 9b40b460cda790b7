// The report of a job for a terminal: what matters, in a screen or two. The page and the JSON have the rest.
#pragma once

#include <iosfwd>

#include "nadi/tables/report_style.h"

namespace nadi::inline jobs {
struct JobReport;
}  // namespace nadi::inline jobs

namespace nadi::inline show {

struct JobReportTextOptions {
  ReportStyle style = {};
  const JobReport* compared_with = nullptr;  // another job
};

void print_job_report(const JobReport& report, std::ostream& out, const JobReportTextOptions& options);

}  // namespace nadi::inline show
