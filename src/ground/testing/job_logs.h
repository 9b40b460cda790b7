// Folders of jobs, made up for tests and benchmarks: what the sbatch scripts of the modified Megatron-LM
// leave behind for a job, <folder>/<job>/<node>.{out,err,gpu}.
//
//   const WrittenJob job = write_job_logs(folder, {.seed = 3, .nodes = 4, .timers = JobTimers::kAll});
//   // job.folders[0] can be read now; job.iterations, job.samples ... are what was put into it.
//
// Equal specifications give equal bytes. Every figure is returned as it was printed (rounded to its digits),
// with its file and the byte behind the line that it stands in: after a file was cut at byte `c`, exactly the
// items with `end` <= c are still whole. (One with `end` == c + 1 has lost nothing but its newline.)
//
// The times follow a model that readers can check against each other: a job of `nodes` * `gpus` ranks with
// tensor parallelism fastest, then data, then pipeline; the first interval of the log is `warm_up` times as
// long as the others; the calls that PROFILE=true lists are those of a 1F1B pipeline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nadi::inline ground {

enum class JobTimers : std::uint8_t { kNone, kMax, kMinMax, kAll };

// What the sampler of GPUs writes.
enum class JobSamples : std::uint8_t {
  kNone,
  kGpustat,            // "[0] NVIDIA A10       | 49'C,   0 % |     0 / 22731 MB | user(123M)"
  kGpustatDegrees,     // the same with "°C", as newer versions write it
  kGpustatWithHeader,  // and with a line of host, date and driver before each sample
  kNvidiaSmi,          // "0, NVIDIA A10, 49, 0, 0, 22731", with "[N/A]" where something is missing
  kOwn,                // of our own sampler: "gpu TIME 0, NVIDIA A10, 49, 0, 0, 22731, REASONS, MHZ, WATTS"
};

struct JobLogsSpec {
  std::uint64_t seed = 1;
  std::int64_t job = 10932251;
  std::int64_t nodes = 2;
  std::int64_t gpus = 4;         // of a node
  std::int64_t first_node = 60;  // "n060", "n061", ...
  // The last nodes may belong to a second job, with a folder of its own: the two ids of a mixed cluster.
  std::int64_t nodes_of_second_job = 0;
  std::vector<std::int64_t> missing_nodes = {};  // those that left no files, by place

  std::int64_t tensor = 1, pipeline = 2;  // the rest is data parallelism
  std::int64_t micro_batch = 2, micro_batches = 4;
  std::string model = "gpt2xl";
  std::int64_t hidden = 1600, layers = 48, heads = 25, sequence = 1024, vocabulary = 50304;

  std::int64_t iterations = 100;  // that have run
  std::int64_t all_iterations = 500;
  std::int64_t log_interval = 10;
  double seconds = 1.4;       // of a steady iteration
  double warm_up = 3.24;      // 4.54 s / 1.40 s
  double noise = 0.01;        // of an iteration's time, up and down
  std::int64_t nan_from = 0;  // the loss is not a number from this iteration; 0 means never
  bool newer_lines = false;   // date and throughput in the line of an iteration
  JobTimers timers = JobTimers::kMinMax;
  bool profile = false;  // lists of the calls behind each rank's line; with kAll

  JobSamples samples = JobSamples::kGpustat;
  std::int64_t sample_count = 60;  // of a node
  double sample_seconds = 1;
  double missing_samples = 0.01;  // share of values that read "??" or "[N/A]"
  std::int64_t hot_node = -1;     // by place: its GPUs are 30 degrees hotter
  std::string gpu = "NVIDIA A10";
  std::int64_t gpu_megabytes = 22731;

  std::int64_t warnings = 8;  // on stderr, of a node
  // Ends by running out of memory on this node (by place): a traceback on stderr, and the launchers'
  // messages.
  std::int64_t failing_node = -1;
  // The node (by place) whose settings differ: GLOBAL_BATCH_SIZE is twice that of the others.
  std::int64_t other_settings_node = -1;
  // Megatron's list of arguments, with a micro_batch_size other than the script's.
  bool arguments = true;
  bool other_micro_batch_in_effect = false;

  // Lines are cut off within, with their newlines, as two writers of one file do it: this share of all lines
  // of an iteration, a timer or a sample.
  double cut_lines = 0;

  // Lines of no interest are added until the three files of a node have this size together, 0 means none. More
  // samples and warnings are written, too: a half of the bytes are samples, an eighth warnings.
  std::int64_t bytes_of_node = 0;

  bool keep_items = true;  // false: WrittenJob has only names and sizes, for folders of gigabytes
};

enum class WrittenFileKind : std::uint8_t { kOut, kErr, kGpu };

struct WrittenPlace {
  std::int64_t node = 0;  // by place
  std::uint64_t end = 0;  // byte behind the line
  bool cut = false;       // the line was cut off within
};

struct WrittenSetting {
  WrittenPlace place = {};
  std::string name = {}, value = {};
};

struct WrittenIteration {
  WrittenPlace place = {};
  std::int64_t iteration = 0;
  std::int64_t consumed_samples = 0;
  double milliseconds = 0;
  std::optional<double> tflops = {};
  double learning_rate = 0;
  std::optional<double> loss = {};  // nothing means printed as nan
  double grad_norm = 0;
};

struct WrittenTimer {
  WrittenPlace place = {};  // of its last line; cut: one of its lines is
  std::int64_t iteration = 0;
  std::string name = {};
  std::vector<double> milliseconds = {};  // by rank; kMinMax: two; kMax: one
  std::int64_t calls = 0;                 // listed for each rank
};

struct WrittenMemory {
  WrittenPlace place = {};
  std::int64_t rank = 0, iteration = 0;
  double allocated = 0, most_allocated = 0, reserved = 0, most_reserved = 0;  // MB, as Megatron counts
};

struct WrittenSample {
  WrittenPlace place = {};
  std::int64_t number = 0;  // of the sample on its node
  std::int64_t gpu = 0;
  std::optional<std::int64_t> celsius = {}, percent = {};
  std::int64_t used_megabytes = 0;
};

// On stderr.
struct WrittenMessage {
  WrittenPlace place = {};
  bool error = false;
  std::string text = {};  // the line that says it
};

struct WrittenNode {
  std::string name = {};
  std::filesystem::path out = {}, err = {}, gpu = {};  // also of one that is missing
  bool missing = false;
};

struct WrittenJob {
  std::vector<std::filesystem::path> folders;  // one, or two for a mixed cluster
  std::vector<WrittenNode> nodes;
  std::int64_t ranks = 0, data = 0, global_batch = 0;
  std::int64_t iteration_node = 0;       // that prints the iterations: the last one
  std::vector<WrittenSetting> settings;  // of the scripts, and of Megatron's list ("micro_batch_size")
  std::vector<WrittenIteration> iterations;
  std::vector<WrittenTimer> timers;
  std::vector<WrittenMemory> memory;
  std::vector<WrittenSample> samples;
  std::vector<WrittenMessage> messages;
};

// The folders below `parent`, named by the job's number; the second job has the next one.
WrittenJob write_job_logs(const std::filesystem::path& parent, const JobLogsSpec& spec);

}  // namespace nadi::inline ground
