// Answers of squeue, sacct and scontrol as jobs and nodes. Only forms that are the same from Slurm 20.11
// to 24.05: fields that are named on the command line, and `key=value` of scontrol.
//
// Names of jobs may hold anything, newlines and separators included, and other users choose theirs. So fields
// are separated by a text that was drawn for the call, and the last field of a row is a number: no name can
// look like the next row. `name` stands before that last field.
//
//   const std::vector<std::string> words = squeue_words(separator);
//   const SlurmRows rows = parse_squeue(output, separator);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {

struct SlurmRows {
  std::vector<JobStatus> jobs = {};
  std::int64_t unread = 0;        // rows that are not as they should be, and were left out
  std::string first_unread = {};  // the first of them, with '|' between its fields
};

// What to ask for. The separator holds no '%' and no character of a number.
std::string squeue_format(std::string_view separator);  // of -o
std::string_view sacct_format();                        // of -o, with -P --delimiter=SEPARATOR

// In the order of the answer; components of a heterogeneous job and tasks of an array are rows of their own,
// with ids "12+1" and "12_3".
SlurmRows parse_squeue(std::string_view answer, std::string_view separator);
// Reads the answer of `sacct -X`. With -D, a job that was requeued has a row for each time it ran, in their order.
SlurmRows parse_sacct(std::string_view answer, std::string_view separator);

// Rows of one heterogeneous job become one job with components, where the first of them stood. The state is
// that of the component that went worst, or that has gone least far.
std::vector<JobStatus> with_components(std::vector<JobStatus> rows);
// The same for rows that belong together for another reason; not empty.
JobStatus joined_job(std::string id, std::vector<JobStatus> components);

// What scontrol knows beyond that.
struct SlurmDetails {
  std::string id;  // digits
  std::int64_t restarts = 0;
  bool may_requeue = false;
  int exit_code = 0;
  int signal = 0;
  std::vector<std::string> excluded = {};
};
// A line of `scontrol -o show job ID`, in which values may hold spaces and look like keys. `name` is that of
// the job, as squeue says it: behind it stands nothing that a user chose until after the keys that are read
// here. Nothing when the line has another form.
std::optional<SlurmDetails> parse_scontrol_job(std::string_view answer, std::string_view name);

// Lines of `scontrol -o show node`. Gres of type gpu are counted: "gpu:a10:4(S:0-1)".
std::vector<SchedulerNode> parse_scontrol_nodes(std::string_view answer);

// Whether a state of SchedulerNode is that of a node that jobs should not be sent to: down, failing, drained,
// or not responding.
bool is_bad_node_state(std::string_view state);

// Nodes that srun and slurmstepd called failed, in what they wrote to the output of a job: in the order of
// the text, each once.
std::vector<std::string> failed_nodes_said(std::string_view output);

}  // namespace nadi::inline jobs
