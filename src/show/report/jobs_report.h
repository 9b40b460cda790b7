// Jobs as tables and facts: for `nadi job list` and `nadi job status`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nadi/scheduler/scheduler.h"
#include "nadi/tables/report_facts.h"
#include "nadi/tables/report_style.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {

// A row for each.
ReportTable jobs_table(std::span<const JobStatus> jobs);

// One job in full. `now` is for what people read: "since 5 min".
std::vector<ReportFact> job_facts(const JobStatus& job, JobTime now);

// The facts, and the parts of a job that has several.
Json job_json(const JobStatus& job);
std::string job_text(const JobStatus& job, JobTime now, const ReportStyle& style);

// "2026-11-16 19:51:42", in the time zone of this machine; "" for no time.
std::string job_time_shown(const std::optional<JobTime>& time);

// "n1-n3,n7": names of nodes, of which those in a row are one range.
std::string nodes_text(std::span<const std::string> nodes);

}  // namespace nadi::inline show
