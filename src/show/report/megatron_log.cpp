#include "nadi/report/megatron_log.h"

#include <array>
#include <ctime>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/megatron_log/megatron_tflops.h"
#include "nadi/recording/run_traces.h"

namespace nadi::inline show {

std::string local_time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

MegatronLog::MegatronLog(const MegatronLogOptions& options, std::ostream& lines, std::ostream& notes,
                         std::function<std::string()> now)
    : options_(options), lines_(lines), notes_(notes), now_(std::move(now)) {}

void MegatronLog::note(const std::string& text) {
  if (options_.prints_notes) notes_ << "note: " << text << "\n" << std::flush;
}

void MegatronLog::started(std::int64_t first_step, std::int64_t total_steps) {
  if (options_.prints_notes && !options_.arguments.arguments.empty()) {
    ArgumentList list = options_.arguments;
    list.arguments.push_back({"train_iters", format("{}", total_steps)});
    lines_ << to_text(std::move(list)) + "\n" << std::flush;  // at once: ranks of a node share a file
  }
  if (first_step > 0) note(format("continuing after step {} of {}", first_step, total_steps));
}

IterationLine MegatronLog::iteration_line(const StepReport& report) const {
  const double seconds = seconds_ / static_cast<double>(steps_);
  IterationLine line{.iteration = report.step,
                     .iterations = report.total_steps,
                     .consumed_samples = report.consumed_samples,
                     .seconds_per_iteration = seconds,
                     .learning_rate = report.next_learning_rate,  // Megatron has set it before it prints
                     .global_batch = report.global_batch,
                     .loss_scale = report.loss_scale.value_or(1),
                     .grad_norm = report.grad_norm.value_or(0),  // as Megatron prints without clipping
                     .skipped = skipped_};
  if (options_.throughput) {
    line.date = now_();
    line.tflops_per_rank =
        megatron_tflops(options_.config, report.global_batch, options_.seq_length, seconds) /
        static_cast<double>(options_.ranks);
  }
  if (steps_ > skipped_) line.loss = losses_ / static_cast<double>(steps_ - skipped_);
  return line;
}

TimerBlock MegatronLog::timer_block() const {
  constexpr std::string_view kOnlyAtLevel2 = "batch-generator";
  TimerBlock block{.option = options_.timing_option};
  for (const auto& [name, seconds] : parts_) {
    if (name == kOnlyAtLevel2 && options_.timing_level < 2) continue;
    TimerBlock::Timer timer{.name = std::string(name), .seconds = seconds};
    for (double& sum : timer.seconds) sum /= static_cast<double>(steps_);
    block.timers.push_back(std::move(timer));
  }
  return block;
}

void MegatronLog::add(const StepReport& report) {
  ++steps_;
  seconds_ += report.seconds;
  if (parts_.empty()) {
    parts_ = report.parts;
  } else {
    for (std::size_t part = 0; part < parts_.size(); ++part)
      for (std::size_t rank = 0; rank < parts_[part].seconds.size(); ++rank)
        parts_[part].seconds[rank] += report.parts[part].seconds[rank];
  }
  if (report.skipped)
    ++skipped_;
  else
    losses_ += report.loss;
}

void MegatronLog::step(const StepReport& report) {
  add(report);
  if (report.step % options_.interval != 0) return;
  if (options_.prints_lines) lines_ << to_text(iteration_line(report)) << "\n" << std::flush;
  if (options_.prints_lines && options_.timing_level > 0)
    lines_ << to_text(timer_block()) << "\n" << std::flush;
  if (options_.prints_memory && !memory_printed_)
    lines_ << to_text(MemoryLine{.rank = options_.rank, .iteration = report.step, .allocated = report.memory})
           << "\n"
           << std::flush;
  memory_printed_ = true;
  parts_.clear();
  seconds_ = losses_ = 0;
  steps_ = skipped_ = 0;
}

void MegatronLog::evaluated(const EvaluationReport& report) {
  if (!options_.prints_lines) return;
  lines_ << to_text(ValidationLine{.iteration = report.step, .loss = report.loss}) << "\n" << std::flush;
}

void MegatronLog::saved(const std::filesystem::path& path) {
  if (options_.prints_notes) notes_ << format("saved {}\n", path.string()) << std::flush;
}

void MegatronLog::traced(const RunTraceFiles& files) {
  if (!options_.prints_notes) return;
  for (const std::filesystem::path& path : files.all()) notes_ << format("wrote {}\n", path.string());
  notes_ << std::flush;
}

}  // namespace nadi::inline show
