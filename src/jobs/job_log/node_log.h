// What the files of one node of a job say: <node>.out, <node>.err and <node>.gpu.
//
// All of it is bounded, however long the files are: a series that has grown to its limit merges neighbours in
// pairs (counts, sums, least and greatest values stay exact), lists stop at their limit and count what they
// left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_log/error_group.h"
#include "nadi/megatron_log/log_line_reader.h"

namespace nadi::inline jobs {

// A setting in effect as the node printed it: "NODE_RANK: 1", or "  micro_batch_size ........ 4" of
// Megatron's list of arguments. Printed again by a later start, the later value counts.
struct PrintedSetting {
  std::string name = {};   // as printed
  std::string value = {};  // without spaces around it; "" for an empty one
  std::int64_t line = 0;   // of the .out file, from 1
};

// One line of an iteration, or several neighbours merged.
struct IterationPoint {
  std::int64_t first = 0, last = 0;  // numbers of the iterations of the first and of the last line
  std::int64_t iterations = 0;       // of the whole run, by the last line
  std::int64_t lines = 1;            // how many are merged here
  int start = 0;                     // which start of the job: NodeLog::starts[start]
  // Times of one iteration, as the lines say it (each is a mean since the line before). Nothing means nadi train's own
  // lines have no times.
  std::int64_t timed_lines = 0;
  Nanoseconds total = {};  // sum over the lines; the mean is mean()
  Nanoseconds least = {}, most = {};
  std::optional<double> loss = {};  // of the last line that has one; may be NaN or infinite
  std::int64_t bad_losses = 0;      // lines whose loss is NaN or infinite
  std::optional<double> tflops_per_rank = {}, tokens_per_second = {}, learning_rate = {}, grad_norm = {},
                        loss_scale = {};
  std::int64_t global_batch = 0;         // 0 means not said
  std::optional<Nanoseconds> left = {};  // of the run, as nadi train says it
  std::int64_t skipped = 0, nan = 0;     // iterations, summed over the lines
  std::optional<std::int64_t> date =
      {};  // of the last line, seconds since 1970 in the clock of the log (no zone is said)
  // The last line: its number (from 1), and its place in the file for read_timers().
  std::int64_t line = 0, offset = 0;

  std::optional<Nanoseconds> mean() const {
    return timed_lines == 0 ? std::nullopt : std::optional(Nanoseconds{total.count() / timed_lines});
  }
};

// Validation losses, as "validation loss at iteration 100" or nadi train's "step 100: validation loss 3.1".
struct ValidationPoint {
  std::int64_t iteration = 0;
  double loss = 0;
};

// A start of the job on the node: the first, or one after a requeue. Scripts mark it with SLURM_RESTART_COUNT
// or, the old ones, by printing NODE_RANK again; without marks a number of iteration that went back counts as
// a start.
struct NodeStart {
  std::int64_t line = 0;                      // of the .out file
  std::optional<std::int64_t> restarts = {};  // by Slurm's count, where it is printed
};

// What was measured of a device at one moment, or merged over several. A field that the sampler did not know
// ("??", "[N/A]") is nothing.
struct DeviceSample {
  std::int64_t sequence = 0;              // number of the sample in the file, from 0
  std::optional<std::int64_t> time = {};  // seconds since 1970; the old form has none
  std::int64_t samples = 1;               // merged here
  std::optional<float> utilisation = {};  // percent; the mean when merged
  std::optional<float> temperature = {};  // degrees Celsius; the highest when merged
  std::optional<Bytes> memory_used = {};  // the most when merged
  std::uint64_t throttle = 0;             // NVML's bits of reasons for lower clocks, or-ed when merged
  std::optional<float> power = {};        // watts; the mean when merged
  std::optional<float> clock = {};        // MHz of the SMs; the mean when merged
  bool process_seen = false;              // the old form lists processes behind the line
};

// A GPU, or the CPUs of a node.
struct DeviceLog {
  enum class Kind : std::uint8_t { kGpu, kCpu };
  Kind kind = Kind::kGpu;
  std::int64_t index = 0;  // the driver's; 0 for the CPUs
  std::string name = {};   // "NVIDIA A10"; "2 cores"
  std::optional<Bytes> memory_total = {};
  std::vector<DeviceSample> samples = {};  // at most kMostSamples, oldest first
  DeviceSample last = {};                  // the newest, alone
  std::vector<DeviceSample> recent = {};   // the last kRecentSamples, each alone, oldest first
};
inline constexpr std::size_t kMostSamples = 512;
inline constexpr std::size_t kRecentSamples = 12;
inline constexpr std::size_t kMostPoints = 4096;
inline constexpr std::size_t kFirstPoints = 64;     // of these are never merged: the warm-up
inline constexpr std::size_t kMostDevices = 64;     // of a node
inline constexpr std::size_t kMostSettings = 1024;  // of a node

// How reading of one file went.
struct LogFile {
  std::filesystem::path path = {};  // "" when the node has no such file
  Bytes size = {};                  // what was read of it
  std::int64_t lines = 0;
  std::int64_t modified = 0;       // seconds since 1970
  std::int64_t long_lines = 0;     // longer than kLongestLogLine: only their beginning was looked at
  std::int64_t damaged_lines = 0;  // begin like something that is read here, and do not go on so
  std::int64_t replaced = 0;  // times that the file was shorter or another one than before: it was read again
  std::string problem = {};   // why it cannot be read
  std::vector<std::string> tail = {};  // the last lines, each cut at kLongestTailLine; may be half a line
};
inline constexpr std::size_t kLongestLogLine = std::size_t{1} << 16;
inline constexpr std::size_t kLongestTailLine = 512;
inline constexpr std::size_t kTailLines = 16;

struct NodeLog {
  std::string name = {};   // "n060"
  std::size_t folder = 0;  // of JobLog::folders
  LogFile out = {}, err = {}, gpu = {};
  std::vector<PrintedSetting> settings = {};      // in the order of their first printing
  std::int64_t settings_left_out = 0;             // beyond kMostSettings
  std::vector<NodeStart> starts = {};             // never empty once a line was read
  std::vector<IterationPoint> points = {};        // at most kMostPoints, in the order of the file
  std::optional<IterationPoint> newest = {};      // the last line alone
  bool done = false;                              // the program said that it has finished all iterations
  std::vector<LoggedMemory> memory = {};          // newest per rank, by rank
  std::vector<ValidationPoint> validations = {};  // the last kMostPoints
  std::vector<DeviceLog> devices = {};            // GPUs by index, then the CPUs
  std::vector<ErrorGroup> errors = {};            // of this node, in order of appearance
  std::int64_t errors_left_out = 0;               // lines of errors beyond kMostErrorGroups groups
  std::int64_t warnings = 0;                      // lines on stderr that are warnings

  const PrintedSetting* find_setting(std::string_view setting) const;  // nullptr when it was not printed
};

}  // namespace nadi::inline jobs
