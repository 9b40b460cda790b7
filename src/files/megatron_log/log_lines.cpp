#include "nadi/megatron_log/log_lines.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

constexpr double kMilliseconds = 1000;

std::string heading(TimingOption option) {
  switch (option) {
    case TimingOption::kMax:
      return "max time across ranks (ms):";
    case TimingOption::kMinMax:
      return "(min, max) time across ranks (ms):";
    case TimingOption::kAll:
      return "times across ranks (ms):";
  }
  unreachable();
}

}  // namespace

std::string to_text(const IterationLine& line) {
  std::string text = line.date ? format(" [{}]", *line.date) : "";
  text += format(" iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} |",
                 line.iteration, line.iterations, line.consumed_samples,
                 line.seconds_per_iteration * kMilliseconds);
  if (line.tflops_per_rank)
    text += format(" throughput per GPU (TFLOP/s/GPU): {:.1f} | learning rate: {:.6E} |",
                   *line.tflops_per_rank, line.learning_rate);
  else
    text += format(" learning rate: {:.3E} |", line.learning_rate);
  text += format(" global batch size: {:5} |", line.global_batch);
  if (line.loss) text += format(" lm loss: {:.6E} |", *line.loss);
  return text +
         format(
             " loss scale: {:.1f} | grad norm: {:.3f} | number of skipped iterations: {:3} | number of "
             "nan iterations: {:3} |",
             line.loss_scale, line.grad_norm, line.skipped, line.nan);
}

std::string to_text(const MemoryLine& line) {
  constexpr double kMegaByte = 1024.0 * 1024.0;  // as Megatron counts
  const double held = static_cast<double>(line.allocated.count()) / kMegaByte;
  return format(
      "[Rank {}] (after {} iterations) memory (MB) | allocated: {:.2f} | max allocated: {:.2f} | reserved: "
      "{:.2f} | max reserved: {:.2f}",
      line.rank, line.iteration, held, held, held, held);
}

std::string to_text(const ValidationLine& line) {
  constexpr double kLargestExponent = 20;  // Megatron's limit for the perplexity
  const std::string numbers =
      format(" validation loss at iteration {} | lm loss value: {:.6E} | lm loss PPL: {:.6E} | ",
             line.iteration, line.loss, std::exp(std::min(line.loss, kLargestExponent)));
  const std::string rule(numbers.size() + 1, '-');
  return rule + "\n" + numbers + "\n" + rule;
}

std::string to_text(const TimerBlock& block) {
  std::string text = heading(block.option);
  for (const auto& [name, seconds] : block.timers) {
    const auto [least, most] = std::ranges::minmax(seconds);
    const std::string label = format("{:.<48}", name + " ");
    switch (block.option) {
      case TimingOption::kMax:
        text += format("\n    {}: {:.2f}", label, most * kMilliseconds);
        break;
      case TimingOption::kMinMax:
        text += format("\n    {}: ({:.2f}, {:.2f})", label, least * kMilliseconds, most * kMilliseconds);
        break;
      case TimingOption::kAll:
        text += format("\n  {}:", name);
        for (std::size_t rank = 0; rank < seconds.size(); ++rank)
          text += format("\n     rank {:2}: {:.2f}", rank, seconds[rank] * kMilliseconds);
        break;
    }
  }
  return text;
}

}  // namespace nadi::inline files
