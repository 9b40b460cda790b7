// A job as a script that runs it on this machine: `bash script.sh ID` in the folder of jobs.
//
// It does what slurm_script.h does, without Slurm: folder, sampler, ranks, the signal before the end of the
// time, restarts. It writes down what becomes of it in FOLDER/<id>/local_state.txt, a line for each event:
//
//   pid 1234 567890        its process and when this began, in ticks since the machine started
//   start 0 1700000000     number of the start, seconds since 1970
//   end 0 done 1700000100  exit code; done, failed, cancelled or timed-out; when
//
// Under a keeper (detached_process.h), which its submission gives it, the first line is the submission's, and
// what the ranks have left behind is ended after each start. A script that is killed writes no end: then its
// keeper does ("end 137 killed 1700000100").
//
// A sweep runs one run after the other, in FOLDER/<id>_<run>/.
#pragma once

#include <string>

#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {

// The job has been checked (check_job()).
std::string local_script(const JobFile& job);

}  // namespace nadi::inline jobs
