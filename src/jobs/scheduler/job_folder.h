// The folder of a job: FOLDER/<id>/ with
//
//   job.json         the job as it was resolved
//   script.sh        what runs
//   submitted.json   scheduler, id, ids of components, time, plan
//   slurm.txt        what Slurm and the script said
//   plan.json        the plan, where there is one
//   <node>.out  <node>.err  <node>.gpu      of each node: the ranks' output and errors, samples of GPUs
//   nsys/  ncu/  trace/                     files of profilers, named by rank
//
// A run of a sweep is FOLDER/<id>_<run>/, with the files of nodes and slurm.txt; the rest is in FOLDER/<id>/.
// Folders of other scripts may have nothing but the files of nodes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/job_files/job_file.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {

// The files that are known before the job has an id: job.json, script.sh and plan.json. Makes the folder,
// which may be there already. Error (environment) where it cannot be written.
void write_job_files(const JobFile& job, const std::filesystem::path& folder, std::string_view script);

// These, and submitted.json, which makes it the folder of a job.
void write_job_folder(const JobFile& job, const SubmittedJob& submitted, std::string_view script);

// Nothing where the folder has no submitted.json or no job.json; Error (input) where they are damaged. Of a
// run of a sweep, those of the sweep, with the id of the run.
std::optional<SubmittedJob> read_submitted_job(const std::filesystem::path& folder);
std::optional<JobFile> read_job_of(const std::filesystem::path& folder);

// The ids of the runs of a sweep that have begun, in natural order; empty for the folder of any other job.
std::vector<std::string> runs_of_sweep(const std::filesystem::path& folder);

// Error (usage): a sweep is submitted again as a whole.
Error run_is_not_resumed(const SubmittedJob& run);

// Folders of jobs of ours in `outputs`, in natural order of their ids.
std::vector<std::filesystem::path> job_folders(const std::filesystem::path& outputs);

// The folder that a user means by JOB: a path of a folder, or an id, of which the folder lies in `outputs`;
// that of a local job may lie anywhere (job_registry.h). Nothing when there is none.
std::optional<std::filesystem::path> find_job_folder(const std::string& job,
                                                     const std::filesystem::path& outputs);

}  // namespace nadi::inline jobs
