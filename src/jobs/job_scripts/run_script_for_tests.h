// Runs scripts of jobs as bash runs them, with small programs in place of Slurm's and others.
//
//   class Mine : public RunScript {};
//   TEST_F(Mine, Prints) {
//     ASSERT_EQ(run(command_job({"echo", "x"})), 0) << read_text("slurm.txt");
//     read_text("jobs/7/n1.out");
//   }
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "nadi/job_scripts/local_script.h"
#include "nadi/job_scripts/slurm_script.h"
#include "nadi/process/find_program.h"
#include "nadi/testing/text_files.h"
#include "nadi/testing/working_folder.h"

namespace nadi::inline jobs {

inline JobFile command_job(std::vector<std::string> words) {
  JobFile job;
  job.run = {.kind = JobRunKind::kCommand, .words = std::move(words)};
  job.outputs = std::filesystem::current_path() / "jobs";
  return job;
}

// A folder with programs of Slurm's names, and a run of the script with them. The rank is number 0 on n1.
class RunScript : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("bash")) GTEST_SKIP() << "no bash on PATH";
    write_program("scontrol",
                  "case \"$*\" in 'show hostnames'*) echo n1 ;; *requeue*) echo \"$*\" >>said.txt ;; "
                  "*) echo 'NodeName=n1 NodeAddr=10.0.0.1 x=y' ;; esac");
    write_program("srun",
                  "overlap=0; while [ \"$1\" != bash ]; do [ \"$1\" = --overlap ] && overlap=1; shift; done\n"
                  "[ $overlap = 1 ] && exit 0\n"
                  "export SLURM_PROCID=0 SLURM_LOCALID=0 SLURMD_NODENAME=n1\nexec \"$@\"");
  }
  void write_program(const std::string& name, const std::string& body) {
    write_text("bin/" + name, "#!/bin/bash\n" + body + "\n");
    std::filesystem::permissions("bin/" + name, std::filesystem::perms::owner_all);
  }
  int run(const JobFile& job) {
    check_job(job);
    return run_script(slurm_scripts(job)[0].text);
  }
  int run_script(const std::string& text) {
    write_text("script.sh", text);
    return run_bash("SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n1 SLURM_ARRAY_TASK_ID=1 bash script.sh");
  }
  int run_here(JobFile job) {
    job.scheduler = SchedulerKind::kLocal;
    check_job(job);
    write_text("script.sh", local_script(job));
    return run_bash("HOSTNAME=n1 bash script.sh 7");
  }

 private:
  static int run_bash(const std::string& command) {
    return WEXITSTATUS(std::system(("PATH=\"$PWD/bin:$PATH\" " + command + " >slurm.txt 2>&1").c_str()));
  }
  WorkingFolder folder_;
};

}  // namespace nadi::inline jobs
