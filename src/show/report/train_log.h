// Nadi's log of a training run: on a terminal a progress bar with loss, tokens/s and time left, otherwise a
// line every so many steps. megatron_log/ has Megatron's.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "nadi/model/model_config.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/train/trainer.h"

namespace nadi::inline show {

struct Console;

// What the speed of a run on GPUs is told by: TFLOP/s of each as Megatron counts them, and the share of what
// the GPU can do at most (model FLOPs utilization, MFU).
struct GpuThroughput {
  ModelConfig config;
  std::int64_t seq_length = 0;
  std::int64_t ranks = 1;
  std::optional<double> peak_tflops = {};  // of one GPU; nothing means not known, and no MFU is printed
};

class TrainLog : public TrainListener {
 public:
  // Results go to `lines`: standard output, or standard error where standard output is for JSON.
  TrainLog(Console& console, std::ostream& lines, std::int64_t logging_steps, Clock clock,
           std::optional<GpuThroughput> throughput = {});
  ~TrainLog() override;

  // Erases the bar; the destructor does the same.
  void finish();

  void note(const std::string& text) override;
  void started(std::int64_t first_step, std::int64_t total_steps) override;
  void step(const StepReport& report) override;
  void evaluating(std::int64_t done, std::int64_t batches) override;
  void evaluated(const EvaluationReport& report) override;
  void epoch(const EpochReport& report) override;
  void saved(const std::filesystem::path& path) override;
  void traced(const RunTraceFiles& files) override;

 private:
  void line(std::ostream& out, const std::string& text);
  std::string throughput_text() const;  // since the last line
  void show_bar(const std::string& text);
  void erase_bar();

  Console& console_;
  std::ostream& lines_;
  std::int64_t logging_steps_;
  Clock clock_;
  std::optional<GpuThroughput> throughput_;
  Nanoseconds started_at_ = {};
  std::int64_t first_step_ = 0;
  std::int64_t steps_since_line_ = 0;
  std::int64_t tokens_since_line_ = 0;
  std::int64_t samples_since_line_ = 0;
  double seconds_since_line_ = 0;
  std::string bar_;  // what is on the terminal's last line
};

}  // namespace nadi::inline show
