// The report of a job as a page: figures, curves, a map of the GPUs over time, a timeline of the ranks,
// settings, errors.
//
//   const std::optional<TimelineView> timeline = job_timeline(report, {});
//   write_job_page({.report = &report, .timeline = timeline ? &*timeline : nullptr}, "report.html",
//                  Overwrite::kRefuse);
//
// The page shows what job_report_json() has, and the timeline. Its size is bounded, since a report's is.
#pragma once

#include <filesystem>

#include "nadi/base/atomic_file.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline jobs {
struct JobReport;
}  // namespace nadi::inline jobs

namespace nadi::inline show {

struct JobPage {
  const JobReport* report = nullptr;
  const JobReport* compared_with = nullptr;  // another job, or none
  const TimelineView* timeline = nullptr;    // or none
};

// Returns the size of the page. Errors: those of AtomicFile.
Bytes write_job_page(const JobPage& page, const std::filesystem::path& path, Overwrite overwrite);

}  // namespace nadi::inline show
