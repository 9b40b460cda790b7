// A job that is submitted, or would be: its id and folder, or its scripts; as text and as JSON.
#pragma once

#include "nadi/job_files/job_file.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline show {

struct Console;

void print_dry_run(const JobFile& job, bool json, Console& console);
void print_submitted(const JobFile& job, const SubmittedJob& submitted, bool json, Console& console);

}  // namespace nadi::inline show
