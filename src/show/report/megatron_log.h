// Writes a run's log in Megatron's form, for parsers that read Megatron's logs: a line every so many
// iterations, the memory of the ranks once, validation losses (log_lines.h has the lines).
//
//   MegatronLog log({.config = config, .seq_length = 1024, .ranks = 8, .interval = 10}, std::cout,
//   std::cerr); train(options, data, world, log, stop_asked);
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "nadi/megatron_log/argument_list.h"
#include "nadi/megatron_log/log_lines.h"
#include "nadi/model/model_config.h"
#include "nadi/train/train_listener.h"

namespace nadi::inline show {

struct MegatronLogOptions {
  const ModelConfig& config;
  std::int64_t seq_length = 1;
  std::int64_t ranks = 1;
  std::int64_t interval = 1;  // iterations per line
  bool throughput = false;    // the newer form of the line
  // 0 means no timers; 1 means the parts of a step after each line; 2 means batch generation, too.
  int timing_level = 0;
  TimingOption timing_option = TimingOption::kMinMax;
  // What this rank prints. In Megatron the last rank prints the lines, the first rank of each data-parallel
  // group its memory, and rank 0 the rest.
  std::int64_t rank = 0;
  bool prints_lines = true;
  bool prints_memory = true;
  bool prints_notes = true;
  // The arguments in effect, which rank 0 prints before the first step; train_iters is added.
  ArgumentList arguments = {};
};

// "2026-01-31 09:05:00", as local time.
std::string local_time_text();

class MegatronLog : public TrainListener {
 public:
  // Lines go to `lines`, notes to `notes`; `now` gives the date of the newer form.
  MegatronLog(const MegatronLogOptions& options, std::ostream& lines, std::ostream& notes,
              std::function<std::string()> now = &local_time_text);

  void note(const std::string& text) override;
  void started(std::int64_t first_step, std::int64_t total_steps) override;
  void step(const StepReport& report) override;
  void evaluating(std::int64_t, std::int64_t) override {}
  void evaluated(const EvaluationReport& report) override;
  void epoch(const EpochReport&) override {}
  void saved(const std::filesystem::path& path) override;
  void traced(const RunTraceFiles& files) override;

 private:
  void add(const StepReport& report);
  IterationLine iteration_line(const StepReport& report) const;
  TimerBlock timer_block() const;

  MegatronLogOptions options_;
  std::ostream& lines_;
  std::ostream& notes_;
  std::function<std::string()> now_;
  // Sums since the last line.
  double seconds_ = 0;
  double losses_ = 0;
  std::vector<StepPart> parts_;
  std::int64_t steps_ = 0;
  std::int64_t skipped_ = 0;
  bool memory_printed_ = false;
};

}  // namespace nadi::inline show
