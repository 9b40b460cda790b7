#include "nadi/cli/megatron_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <ostream>

#include "nadi/base/format.h"

namespace nadi {
namespace {

// Python's {:.3E} of numbers is C's, as fmt's.
constexpr double kMegaByte = 1024.0 * 1024.0;

}  // namespace

std::string local_time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

// 12 B s L h^2 (1 + groups/heads + s/(2h) + ffn/h (3/2 with SwiGLU) + V/(2 L h)): forward once and backward
// twice, two operations per multiplication; attention is causal, as since Megatron 0.12.
double megatron_tflops(const ModelConfig& config, std::int64_t samples, std::int64_t seq_length,
                       double seconds) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const double layers = real(config.layers), width = real(config.width), tokens = real(seq_length);
  const double gated = config.architecture == Architecture::kLlama ? 1.5 : 1;
  const double parts = 1 + real(config.kv_heads) / real(config.heads) + tokens / (2 * width) +
                       real(config.ffn_width) / width * gated +
                       real(config.vocabulary) / (2 * layers * width);
  return 12 * real(samples) * tokens * layers * width * width * parts / (seconds * 1e12);
}

MegatronLog::MegatronLog(const MegatronLogOptions& options, std::ostream& lines, std::ostream& notes,
                         std::function<std::string()> now)
    : options_(options), lines_(lines), notes_(notes), now_(std::move(now)) {}

void MegatronLog::note(const std::string& text) {
  if (options_.prints_notes) notes_ << "note: " << text << "\n" << std::flush;
}

void MegatronLog::started(std::int64_t first_step, std::int64_t total_steps) {
  if (first_step > 0) note(format("continuing after step {} of {}", first_step, total_steps));
}

std::string MegatronLog::iteration_line(const StepReport& report) const {
  const double rate = report.next_learning_rate;  // which Megatron has set by the time it prints
  const double seconds = seconds_ / static_cast<double>(steps_);
  std::string line = options_.throughput ? format(" [{}]", now_()) : "";
  line += format(" iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} |",
                 report.step, report.total_steps, report.consumed_samples, seconds * 1000);
  if (options_.throughput)
    line += format(" throughput per GPU (TFLOP/s/GPU): {:.1f} | learning rate: {:.6E} |",
                   megatron_tflops(options_.config, report.global_batch, options_.seq_length, seconds) /
                       static_cast<double>(options_.ranks),
                   rate);
  else
    line += format(" learning rate: {:.3E} |", rate);
  line += format(" global batch size: {:5} |", report.global_batch);
  // Skipped iterations have no loss.
  if (steps_ > skipped_)
    line += format(" lm loss: {:.6E} |", losses_ / static_cast<double>(steps_ - skipped_));
  return line +
         format(
             " loss scale: {:.1f} | grad norm: {:.3f} | number of skipped iterations: {:3} | number of "
             "nan iterations: {:3} |",
             report.loss_scale.value_or(1), report.grad_norm, skipped_, 0);
}

// Mean times of the steps since the last line, in milliseconds, in the form of Megatron's timers.
std::string MegatronLog::timing_lines() const {
  constexpr double kMilliseconds = 1000;
  constexpr std::string_view kOnlyAtLevel2 = "batch-generator";
  const double scale = kMilliseconds / static_cast<double>(steps_);
  std::string text = options_.timing_option == TimingOption::kMax      ? "max time across ranks (ms):"
                     : options_.timing_option == TimingOption::kMinMax ? "(min, max) time across ranks (ms):"
                                                                       : "times across ranks (ms):";
  for (const auto& [name, seconds] : parts_) {
    if (name == kOnlyAtLevel2 && options_.timing_level < 2) continue;
    const auto [least, most] = std::ranges::minmax(seconds);
    const std::string label = format("{:.<48}", std::string(name) + " ");
    switch (options_.timing_option) {
      case TimingOption::kMax:
        text += format("\n    {}: {:.2f}", label, most * scale);
        break;
      case TimingOption::kMinMax:
        text += format("\n    {}: ({:.2f}, {:.2f})", label, least * scale, most * scale);
        break;
      case TimingOption::kAll:
        text += format("\n  {}:", name);
        for (std::size_t rank = 0; rank < seconds.size(); ++rank)
          text += format("\n     rank {:2}: {:.2f}", rank, seconds[rank] * scale);
        break;
    }
  }
  return text + "\n";
}

void MegatronLog::step(const StepReport& report) {
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
  if (report.step % options_.interval != 0) return;
  if (options_.prints_lines) lines_ << iteration_line(report) << "\n" << std::flush;
  if (options_.prints_lines && options_.timing_level > 0) lines_ << timing_lines() << std::flush;
  parts_.clear();
  if (options_.prints_memory && !memory_told_) {
    const double held = static_cast<double>(report.memory.count()) / kMegaByte;
    lines_ << format(
                  "[Rank {}] (after {} iterations) memory (MB) | allocated: {:.2f} | max allocated: {:.2f} | "
                  "reserved: {:.2f} | max reserved: {:.2f}\n",
                  options_.rank, report.step, held, held, held, held)
           << std::flush;
  }
  memory_told_ = true;
  seconds_ = losses_ = 0;
  steps_ = skipped_ = 0;
}

void MegatronLog::evaluated(const EvaluationReport& report) {
  if (!options_.prints_lines) return;
  constexpr double kMostForExp = 20;
  const std::string line =
      format(" validation loss at iteration {} | lm loss value: {:.6E} | lm loss PPL: {:.6E} | ", report.step,
             report.loss, std::exp(std::min(report.loss, kMostForExp)));
  const std::string rule(line.size() + 1, '-');
  lines_ << rule << "\n" << line << "\n" << rule << "\n" << std::flush;
}

void MegatronLog::saved(const std::filesystem::path& path) {
  if (options_.prints_notes) notes_ << format("saved {}\n", path.string()) << std::flush;
}

void MegatronLog::traced(const RunTraceFiles& files) {
  if (!options_.prints_notes) return;
  for (const std::filesystem::path& path : files.all()) notes_ << format("wrote {}\n", path.string());
  notes_ << std::flush;
}

}  // namespace nadi
