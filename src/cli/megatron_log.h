// Megatron's lines, for parsers that read its logs: a line per so many iterations, the memory after the first
// of them, validation losses. Two forms: the older one, and with throughput the newer one, which has the date
// in front and the learning rate with more digits.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "nadi/cli/train_options.h"
#include "nadi/train/trainer.h"

namespace nadi {

struct MegatronLogOptions {
  const ModelConfig& config;
  std::int64_t seq_length = 1;
  std::int64_t ranks = 1;
  std::int64_t interval = 1;  // iterations per line
  bool throughput = false;
  // From 1 on the times of a step's parts follow each line, with 2 also those of making batches.
  int timing_level = 0;
  TimingOption timing_option = TimingOption::kMinMax;
  // Who prints what: Megatron's last rank the lines, each first data-parallel rank its memory, rank 0 the
  // rest.
  std::int64_t rank = 0;
  bool prints_lines = true;
  bool prints_memory = true;
  bool prints_notes = true;
};

// "2026-01-31 09:05:00", as local time.
std::string local_time_text();

// Megatron's TFLOP/s of one rank: its own count of a step's work, whatever really is computed.
double megatron_tflops(const ModelConfig& config, std::int64_t samples, std::int64_t seq_length,
                       double seconds);

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
  std::string timing_lines() const;
  std::string iteration_line(const StepReport& report) const;

  MegatronLogOptions options_;
  std::ostream& lines_;
  std::ostream& notes_;
  std::function<std::string()> now_;
  // Since the last line.
  double seconds_ = 0;
  double losses_ = 0;
  std::vector<StepPart> parts_;
  std::int64_t steps_ = 0;
  std::int64_t skipped_ = 0;
  bool memory_told_ = false;
};

}  // namespace nadi
