// Reads a training log of Megatron-LM: the lines of iterations, the blocks of timers behind them, and the
// settings that tell how the job was split.
//
//   const TrainingLog log = read_training_log(path);
//   for (const LoggedIteration& iteration : log.iterations)
//     for (const LoggedTimer& timer : iteration.timers) use(timer.name, timer.ranks);
//
// Blocks of timers are read in all their forms: "times across ranks (ms):" with a line for each rank,
// "(min, max) time across ranks (ms):", "max time across ranks (ms):", and the line of older versions,
// "time (ms) | forward: 1.23 | backward: 4.56". Forks that list every call add "<name> start time lst:" and
// "<name> end time lst:" behind a rank's line, in seconds of the wall clock: these are LoggedRank::starts and
// ::ends.
//
// A timer's time is that of one iteration, the mean over the iterations since the line before; a timer that
// ran once for each micro-batch has the sum over them. A block belongs to the line of the iteration above it;
// blocks before the first line (loading, building the model) are passed over.
//
// Logs hold the output of many programs. A line that is none of the above is passed over; one that starts
// like one and does not go on so is counted. Labels in front ("3: ", as srun -l writes them) do not matter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline files {

// What one rank says about a timer.
struct LoggedRank {
  std::int64_t rank = 0;
  Nanoseconds time = {};
  // For every call, where the log lists them; the same number of both.
  std::vector<Nanoseconds> starts = {}, ends = {};
};

struct LoggedTimer {
  std::string name = {};                  // "forward-compute"
  std::vector<LoggedRank> ranks = {};     // ascending; empty where the block shows no ranks
  std::optional<Nanoseconds> least = {};  // of all ranks, where the block shows both
  std::optional<Nanoseconds> most = {};   // where the block shows no ranks
};

struct LoggedIteration {
  std::int64_t iteration = 0;
  std::int64_t iterations = 0;  // of the whole run
  Nanoseconds time = {};        // of one iteration, the mean since the line before
  std::optional<std::int64_t> global_batch = {};
  std::optional<double> loss = {};
  std::optional<double> tflops_per_rank = {};
  std::vector<LoggedTimer> timers = {};  // in the order of the log

  const LoggedTimer* find(std::string_view timer) const;  // nullptr when there is none
};

// Nothing where the log does not say it.
struct LoggedSettings {
  std::optional<std::int64_t> world_size = {}, tensor_parallel = {}, pipeline_parallel = {},
                              data_parallel = {}, context_parallel = {}, virtual_stages = {},
                              micro_batch = {}, global_batch = {};
  std::string model = {};
};

struct TrainingLog {
  LoggedSettings settings = {};
  std::vector<LoggedIteration> iterations = {};
  std::int64_t damaged_lines = 0;
};

// Error (input) for a file that cannot be read, and for a line longer than 64 MiB. A log without iterations
// is none: one node of many prints them.
TrainingLog read_training_log(const std::filesystem::path& path);
TrainingLog parse_training_log(std::string_view text, const std::string& name);

// Joins the logs of the nodes of a run: the settings of all, and the iterations of all, by number. Where two
// files have the same iteration, the one with more timers counts.
TrainingLog merged(std::vector<TrainingLog> logs);

}  // namespace nadi::inline files
