#include "nadi/report/train_log.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/megatron_log/megatron_tflops.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/progress_line.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kBarWidth = 24, kLeastBarWidth = 4;

// "[####....] text" with a bar that leaves room for the text; the text alone where it fills the line.
std::string with_bar(std::int64_t done, std::int64_t total, const std::string& text, std::size_t width) {
  const auto room = static_cast<std::int64_t>(width) - static_cast<std::int64_t>(text.size()) - 4;
  const std::int64_t length = std::min(kBarWidth, room);
  if (length < kLeastBarWidth) return text;
  const std::int64_t filled = length * done / std::max<std::int64_t>(total, 1);
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(length - filled), '.') + "] " + text;
}

// "0:07", "12:05", "3:12:05".
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0) + 0.5);
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? format("{}:{:02}:{:02}", hours, minutes, rest) : format("{}:{:02}", minutes, rest);
}

}  // namespace

TrainLog::TrainLog(Console& console, std::ostream& lines, std::int64_t logging_steps, Clock clock,
                   std::optional<GpuThroughput> throughput)
    : console_(console),
      lines_(lines),
      logging_steps_(logging_steps),
      clock_(std::move(clock)),
      throughput_(std::move(throughput)) {}

TrainLog::~TrainLog() {
  finish();
}

void TrainLog::finish() {
  erase_bar();
}

void TrainLog::line(std::ostream& out, const std::string& text) {
  const std::string shown = bar_;
  erase_bar();
  out << text << "\n" << std::flush;
  if (!shown.empty()) show_bar(shown);
}

void TrainLog::show_bar(const std::string& text) {
  if (!console_.terminal_err) return;
  show_over(console_, text);
  bar_ = text;
}

void TrainLog::erase_bar() {
  if (bar_.empty()) return;
  console_.err << kEraseLine << std::flush;
  bar_.clear();
}

void TrainLog::note(const std::string& text) {
  line(console_.info(), "note: " + text);
}

void TrainLog::started(std::int64_t first_step, std::int64_t total_steps) {
  first_step_ = first_step;
  started_at_ = clock_();
  if (first_step > 0) note(format("continuing after step {} of {}", first_step, total_steps));
}

std::string TrainLog::throughput_text() const {
  if (!throughput_) return "";
  const double tflops = megatron_tflops(throughput_->config, samples_since_line_, throughput_->seq_length,
                                        seconds_since_line_) /
                        static_cast<double>(throughput_->ranks);
  const std::string text = format(", {:.1f} TFLOP/s per GPU", tflops);
  return throughput_->peak_tflops ? text + format(", MFU {:.1f}%", 100 * tflops / *throughput_->peak_tflops)
                                  : text;
}

namespace {

// ", auxiliary loss 1.0234, busiest expert 1.40 of the mean, 12 of 512 choices dropped"
std::string experts_text(const ExpertBalance& balance) {
  std::string text;
  if (balance.auxiliary_loss > 0) text += format(", auxiliary loss {:.4f}", balance.auxiliary_loss);
  if (balance.router_z_loss > 0) text += format(", z loss {:.4f}", balance.router_z_loss);
  text += format(", busiest expert {:.2f} of the mean", balance.largest_over_mean);
  if (balance.dropped > 0)
    text += format(", {} of {} choices dropped", with_thousands(balance.dropped),
                   with_thousands(balance.choices));
  return text;
}

}  // namespace

void TrainLog::step(const StepReport& report) {
  ++steps_since_line_;
  tokens_since_line_ += report.tokens;
  samples_since_line_ += report.global_batch;
  seconds_since_line_ += report.seconds;
  const double elapsed = static_cast<double>((clock_() - started_at_).count()) * 1e-9;
  const double left = elapsed / static_cast<double>(report.step - first_step_) *
                      static_cast<double>(report.total_steps - report.step);
  const auto tokens_per_second =
      static_cast<std::int64_t>(static_cast<double>(report.tokens) / report.seconds);
  show_bar(with_bar(
      report.step, report.total_steps,
      format("step {}/{} epoch {} loss {:.4f}, {} tokens/s, {} left", report.step, report.total_steps,
             report.epoch, report.loss, with_thousands(tokens_per_second), clock_text(left)),
      output_width(console_.err)));
  if (report.skipped)
    note(format("step {}: gradients overflowed; the step is skipped and the loss scale goes down to {}",
                report.step, report.loss_scale.value_or(0)));
  const bool last = report.step == report.total_steps;
  if (console_.terminal_err || (report.step % logging_steps_ != 0 && report.step != first_step_ + 1 && !last))
    return;
  const std::string scale = report.loss_scale ? format(", loss scale {}", *report.loss_scale) : "";
  const std::string norm = report.grad_norm ? format(", grad norm {:.3f}", *report.grad_norm) : "";
  const std::string experts = report.experts ? experts_text(*report.experts) : "";
  line(lines_,
       format("step {}/{}, epoch {}: loss {:.4f}{}, lr {:.3e}{}{}, {:.4g} s/step, {:.0f} tokens/s{}, {} left",
              report.step, report.total_steps, report.epoch, report.loss, experts, report.learning_rate, norm,
              scale, seconds_since_line_ / static_cast<double>(steps_since_line_),
              static_cast<double>(tokens_since_line_) / seconds_since_line_, throughput_text(),
              clock_text(left)));
  steps_since_line_ = 0;
  tokens_since_line_ = 0;
  samples_since_line_ = 0;
  seconds_since_line_ = 0;
}

void TrainLog::evaluating(std::int64_t done, std::int64_t batches) {
  show_bar(with_bar(done, batches, format("evaluating: batch {} of {}", done + 1, batches),
                    output_width(console_.err)));
}

void TrainLog::evaluated(const EvaluationReport& report) {
  erase_bar();
  line(lines_, format("step {}: validation loss {:.4f}{}", report.step, report.loss,
                      report.best ? ", the best so far" : ""));
}

void TrainLog::epoch(const EpochReport& report) {
  std::string text = format("Epoch {}: Train Loss = {:.4f}", report.epoch, report.train_loss);
  if (report.validation_loss) text += format(", Val Loss = {:.4f}", *report.validation_loss);
  line(lines_, text);
}

void TrainLog::saved(const std::filesystem::path& path) {
  line(console_.info(), format("saved {}", path.string()));
}

void TrainLog::traced(const RunTraceFiles& files) {
  for (const std::filesystem::path& path : files.all())
    line(console_.info(), format("wrote {}", path.string()));
}

}  // namespace nadi::inline show
