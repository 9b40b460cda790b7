// A job: what to run, on which nodes, and what happens around it. What `nadi job submit` takes.
//
//   const JobFile job = read_job_file("job.json", {"nodes=8"});   // a file, and --set of the command line
//   write_text(path, job_file_text(job));                         // the same in full, as plain JSON
//
// The format is JSON with a schema (job_schema()), in which // and /* */ comments may stand. In short:
//
//   {
//     "nadi_job": 1,                                                  // version of the format
//     "name": "gpt2-a10",
//     "run": {"train": ["gpt2", "--max-steps", "1000", "--save-dir", "checkpoints"]},
//     "nodes": 4, "ranks_per_node": 4, "gpus_per_node": 4,
//     "partition": "gpu", "time": "2:00:00",
//     "requeue": {"before_end": "120 s", "max_restarts": 3}
//   }
//
// Keys that are left out have the defaults of JobFile. Unknown keys are Error (input) with their place and
// the nearest key; so are values out of bounds, and texts that no line of a script can carry.
//
// Paths in a file are relative to the folder of the file; in JobFile they are absolute.
//
// Texts for Slurm (names, partitions, ...) hold no control characters. Words of the command may hold
// anything but a NUL; "${NAME}" in a word stands for a variable of the job (job_variables.h), "$${" for "${".
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline jobs {

// The folder of all jobs, beside the file of a job that names none.
inline constexpr std::string_view kDefaultJobOutputs = "jobs";

enum class SchedulerKind : std::uint8_t { kSlurm, kLocal };
std::string_view to_string(SchedulerKind kind);  // "slurm", "local"

enum class JobRunKind : std::uint8_t {
  kTrain,     // nadi train WORDS
  kMegatron,  // python WORDS, a script of Megatron-LM; each rank has RANK, LOCAL_RANK, WORLD_SIZE, MASTER_...
  kCommand,   // WORDS
};
std::string_view to_string(JobRunKind kind);  // "train", "megatron", "command"

// What is started: one process for each rank, or one on each node, which starts its ranks (torchrun).
enum class JobProcesses : std::uint8_t { kRanks, kNodes };
std::string_view to_string(JobProcesses processes);  // "ranks", "nodes"

// Groups of nodes that differ: one heterogeneous job, or a job for each, for clusters without the former.
enum class JobMixing : std::uint8_t { kOneJob, kJobs };
std::string_view to_string(JobMixing mixing);  // "one-job", "jobs"

enum class ContainerKind : std::uint8_t { kNone, kPyxis, kEnroot, kApptainer, kDocker };
std::string_view to_string(ContainerKind kind);  // "none", "pyxis", ...

struct JobRun {
  JobRunKind kind = JobRunKind::kCommand;
  std::vector<std::string> words = {};  // not empty
  std::string program = {};             // kTrain: nadi itself; kMegatron: python; "": found on PATH
  std::filesystem::path folder = {};    // working folder; "": that of the submission
  std::vector<std::string> setup = {};  // lines of bash before the ranks start: "module load cuda"

  bool operator==(const JobRun&) const = default;
};

// Equal nodes. Ranks are numbered group by group, node by node.
struct JobNodes {
  std::string kind = {};  // name of these nodes in the cluster of the plan
  std::int64_t nodes = 1;
  std::int64_t ranks_per_node = 1;
  std::int64_t gpus_per_node = 0;
  std::string gpu_type = {};  // "a10"; "": any
  std::int64_t cpus_per_rank = 1;
  std::optional<Bytes> memory = {};  // of a node; nothing means what the partition gives
  std::vector<std::string> partitions = {};
  std::string constraint = {};             // features: "a10&ib"
  std::vector<std::string> exclude = {};   // names of nodes
  std::vector<std::string> nodelist = {};  // names of nodes that must be in it

  std::int64_t ranks() const { return nodes * ranks_per_node; }
  bool operator==(const JobNodes&) const = default;
};

struct JobContainer {
  ContainerKind kind = ContainerKind::kNone;
  std::string image = {};
  std::vector<std::string> mounts = {};  // "SRC:DST[:ro]"
  std::string folder = {};               // working folder inside; "": JobRun::folder

  bool operator==(const JobContainer&) const = default;
};

struct JobEnvironment {
  bool inherit = true;                 // the whole environment of the submission, as sbatch does
  std::vector<std::string> pass = {};  // names of variables; their values are in no file
  std::vector<std::pair<std::string, std::string>> set = {};

  bool operator==(const JobEnvironment&) const = default;
};

// Steps from first to last, from 1; nothing in their place: the whole run.
struct StepRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
  bool operator==(const StepRange&) const = default;
};
// "10" or "10-12"; nothing for anything else.
std::optional<StepRange> parse_step_range(std::string_view text);
struct ProfilerUse {
  std::optional<StepRange> steps = {};
  std::vector<std::int64_t> ranks = {};  // empty means all
  bool operator==(const ProfilerUse&) const = default;
};
struct JobProfile {
  std::optional<ProfilerUse> nsys = {};
  std::optional<ProfilerUse> ncu = {};
  std::optional<ProfilerUse> trace = {};  // Nadi's own; of Megatron-LM, PyTorch's profiler
  bool operator==(const JobProfile&) const = default;
};

struct JobRequeue {
  std::chrono::seconds before_end{0};  // when the ranks are told to save; 0 means never
  std::string signal = {};             // that tells them; "": USR1 for kTrain under Slurm, else TERM
  std::int64_t max_restarts = 0;
  bool on_failure = false;  // also when a rank fails
  bool exclude_failed_nodes = false;

  bool operator==(const JobRequeue&) const = default;
};

// One run for each combination of values.
struct JobSweep {
  std::vector<std::pair<std::string, std::vector<std::string>>> values = {};  // ${NAME} in words
  std::int64_t at_once = 0;  // 0 means as many as there is room for

  std::int64_t runs() const;  // product of the numbers of values; 1 without any
  bool operator==(const JobSweep&) const = default;
};

struct JobFile {
  std::string name = "nadi";
  SchedulerKind scheduler = SchedulerKind::kSlurm;
  JobRun run = {};
  std::filesystem::path plan = {};              // a plan file, or none
  std::vector<JobNodes> groups = {JobNodes{}};  // not empty
  JobProcesses processes = JobProcesses::kRanks;
  JobMixing mixing = JobMixing::kOneJob;
  std::string mpi = {};  // of srun --mpi; "": pmix for kTrain, else none
  // Where the ranks meet, ${MASTER_ADDR} and ${MASTER_PORT}; "" and 0 mean found when the job starts.
  std::string master_address = {};
  std::int64_t master_port = 0;
  std::string account = {};
  std::string qos = {};
  std::string reservation = {};
  std::string dependency = {};                    // "afterok:123"
  std::optional<std::chrono::seconds> time = {};  // limit; nothing means that of the partition
  bool exclusive = false;
  std::vector<std::string> options = {};  // more words for sbatch: "--mail-type=END"
  JobContainer container = {};
  JobEnvironment environment = {};
  JobProfile profile = {};
  JobRequeue requeue = {};
  JobSweep sweep = {};
  std::chrono::seconds sample_every{10};   // of GPUs, processors and memory; 0 means never
  std::chrono::seconds comm_timeout{600};  // ranks without progress are ended; 0 means never
  std::filesystem::path outputs = {};      // the folder of job folders

  std::int64_t nodes() const;
  std::int64_t ranks() const;
  bool operator==(const JobFile&) const = default;
};

// What a file, or the command line, may leave out, and where paths begin.
struct JobFileOptions {
  std::vector<std::string> set = {};  // "nodes=8", "requeue.max_restarts=3", typed as the schema says
};

// Error (input) for what is wrong with the file, Error (usage) for what is wrong with `set`.
JobFile read_job_file(const std::filesystem::path& path, const JobFileOptions& options = {});
JobFile parse_job_file(std::string text, const std::filesystem::path& path,
                       const JobFileOptions& options = {});

// Plain JSON that is read back as an equal JobFile, wherever it lies.
std::string job_file_text(const JobFile& job);

// Error (usage) where parts contradict each other: an array of heterogeneous jobs, a trace of any command.
// `read_job_file` has called it; for jobs that a program put together.
void check_job(const JobFile& job);

// The JSON schema of the format, as a text.
std::string_view job_schema();

}  // namespace nadi::inline jobs
