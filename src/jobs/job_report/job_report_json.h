// A report as JSON: what `nadi job report --json` prints, and the data of the page, which shows nothing else.
// Keys are described in docs/json.md.
#pragma once

#include <string>

#include "nadi/base/json.h"

namespace nadi::inline jobs {

struct JobReport;

struct JobReportJsonOptions {
  const JobReport* compared_with = nullptr;  // another job
  Json timeline = nullptr;                   // job_timeline_json() of draw/; pages have it apart
  bool indent = true;                        // else one line, for pages
};

// NaN and infinite losses are texts, "nan" and "inf": JSON has no such numbers, and they matter.
std::string job_report_json(const JobReport& report, const JobReportJsonOptions& options = {});

}  // namespace nadi::inline jobs
