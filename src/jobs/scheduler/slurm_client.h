// Slurm by its commands: sbatch, squeue, sacct, scontrol and scancel.
//
//   SlurmClient slurm;
//   const SlurmSubmission submission = slurm.submit("script.sh");
//   const SlurmRows rows = slurm.queue({.ids = {submission.id}});
//
// Every call runs one program for at most kPatience. Error (environment), which names the program and what it
// said, when it is missing, fails or does not answer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/process/program_run.h"
#include "nadi/scheduler/slurm_rows.h"

namespace nadi::inline jobs {

// Runs "squeue" and its arguments; nothing when there is no such program. For tests: another answers.
using SlurmRunner = std::function<std::optional<ProgramRun>(const std::vector<std::string>& words,
                                                            const Environment& environment)>;

struct SlurmSubmission {
  std::string id;         // digits
  std::string said = {};  // warnings
};

struct SlurmQuestion {
  std::vector<std::string> ids = {};  // leaders, or "12_3"; none means all
  std::string user = {};              // "": every user
  std::optional<JobTime> since =
      {};  // of sacct: ended after it; nothing means since midnight, or ever with ids
};

class SlurmClient {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  // The second draws the separator of fields of each call (slurm_rows.h).
  SlurmClient();
  SlurmClient(SlurmRunner run, std::function<std::string()> draw_separator);

  // Whether there is an sbatch to be found.
  static bool is_there();

  // The job is held: it begins when it is released. `environment` is added to that of this process, which the
  // job inherits.
  SlurmSubmission submit(const std::string& script, const Environment& environment = {});

  // squeue: jobs that wait or run, and those that ended a few minutes ago. An id that Slurm has forgotten has
  // no row.
  SlurmRows queue(const SlurmQuestion& question);

  // sacct: also those that ended long ago, once for each time they ran. Nothing where this Slurm keeps no
  // accounts.
  std::optional<SlurmRows> accounts(const SlurmQuestion& question);

  // scontrol show job. Nothing when Slurm has forgotten it.
  std::optional<SlurmDetails> details(const std::string& id, const std::string& name);

  // scontrol show node; none means all.
  std::vector<SchedulerNode> nodes(std::span<const std::string> names = {});

  // scontrol release: also all runs of an array, and all components of a heterogeneous job.
  void release(const std::string& id);

  void cancel(const std::string& id);

 private:
  ProgramRun answer(const std::vector<std::string>& words, const Environment& environment = {});
  std::string good_answer(const std::vector<std::string>& words);

  SlurmRunner run_;
  std::function<std::string()> draw_separator_;
};

}  // namespace nadi::inline jobs
