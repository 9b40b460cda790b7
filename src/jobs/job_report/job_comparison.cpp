#include "nadi/job_report/job_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "nadi/job_report/job_report.h"

namespace nadi::inline jobs {
namespace {

std::optional<double> nanoseconds_of(bool known, Nanoseconds time) {
  return known ? std::optional(static_cast<double>(time.count())) : std::nullopt;
}

std::optional<double> most_memory(const JobReport& report) {
  std::optional<double> most;
  for (const ReportedMemory& memory : report.memory)
    most = std::max(most.value_or(0), static_cast<double>(memory.line.most_reserved.count()));
  return most;
}

std::optional<double> mean_utilisation(const JobReport& report) {
  double sum = 0;
  std::int64_t devices = 0;
  for (const GridDevice& device : report.devices.devices)
    if (device.is_gpu && device.mean_utilisation) {
      sum += *device.mean_utilisation;
      ++devices;
    }
  return devices == 0 ? std::nullopt : std::optional(sum / static_cast<double>(devices));
}

std::optional<double> most_temperature(const JobReport& report) {
  std::optional<double> most;
  for (const ReportedNode& node : report.nodes)
    if (node.most_temperature) most = std::max(most.value_or(-1e9), *node.most_temperature);
  return most;
}

// Without what a script finds for each job anew, which nobody chose.
std::vector<std::pair<std::string, std::string>> chosen_settings(const JobReport& report) {
  constexpr std::array<std::string_view, 3> kFound{"JOB_ID", "MASTER_ADDR", "MASTER_PORT"};
  auto settings = settings_in_effect(report);
  std::erase_if(settings, [&](const auto& setting) {
    return std::ranges::find(kFound, setting.first) != kFound.end();
  });
  return settings;
}

// The loss at the last iteration that both have.
std::optional<double> loss_at(const JobReport& report, std::int64_t iteration) {
  for (const IterationPoint& point : report.points)
    if (point.last == iteration && point.loss && std::isfinite(*point.loss)) return point.loss;
  return std::nullopt;
}

}  // namespace

std::optional<double> ComparedFigure::change() const {
  if (!here || !other || *other == 0) return std::nullopt;
  return *here / *other - 1;
}

JobComparison compare_jobs(const JobReport& report, const JobReport& other) {
  JobComparison comparison;
  const auto here = chosen_settings(report), there = chosen_settings(other);
  for (const auto& [name, value] : here) {
    const auto found = std::ranges::find(there, name, &std::pair<std::string, std::string>::first);
    if (found == there.end())
      comparison.settings.push_back({.name = name, .here = value});
    else if (found->second != value)
      comparison.settings.push_back({.name = name, .here = value, .other = found->second});
  }
  for (const auto& [name, value] : there)
    if (std::ranges::find(here, name, &std::pair<std::string, std::string>::first) == here.end())
      comparison.settings.push_back({.name = name, .other = value});

  const auto add = [&](ComparedFigure figure) {
    if (figure.here || figure.other) comparison.figures.push_back(std::move(figure));
  };
  add({.key = "steady_ns",
       .name = "steady iteration",
       .unit = ComparedUnit::kTime,
       .here = nanoseconds_of(report.steady.lines > 0, report.steady.mean),
       .other = nanoseconds_of(other.steady.lines > 0, other.steady.mean)});
  add({.key = "warm_up_ns",
       .name = "iteration of the warm-up",
       .unit = ComparedUnit::kTime,
       .here = nanoseconds_of(report.steady.warm_up_mean.has_value(),
                              report.steady.warm_up_mean.value_or(Nanoseconds{})),
       .other = nanoseconds_of(other.steady.warm_up_mean.has_value(),
                               other.steady.warm_up_mean.value_or(Nanoseconds{}))});
  add({.key = "samples_per_second",
       .name = "samples per second",
       .less_is_better = false,
       .here = report.samples_per_second,
       .other = other.samples_per_second});
  add({.key = "tokens_per_second",
       .name = "tokens per second",
       .less_is_better = false,
       .here = report.tokens_per_second,
       .other = other.tokens_per_second});
  add({.key = "tflops_per_rank",
       .name = "TFLOP/s per GPU",
       .less_is_better = false,
       .here = report.tflops_per_rank,
       .other = other.tflops_per_rank});
  // Losses of different iterations say nothing about each other.
  for (auto point = report.points.rbegin(); point != report.points.rend(); ++point) {
    const std::optional<double> mine = loss_at(report, point->last), theirs = loss_at(other, point->last);
    if (!mine || !theirs) continue;
    add({.key = "loss",
         .name = "loss at iteration " + std::to_string(point->last),
         .here = mine,
         .other = theirs});
    break;
  }
  add({.key = "most_memory_bytes",
       .name = "most memory reserved by a rank",
       .unit = ComparedUnit::kBytes,
       .here = most_memory(report),
       .other = most_memory(other)});
  add({.key = "mean_utilisation",
       .name = "mean use of the GPUs",
       .unit = ComparedUnit::kPercent,
       .less_is_better = false,
       .here = mean_utilisation(report),
       .other = mean_utilisation(other)});
  add({.key = "most_temperature",
       .name = "hottest GPU",
       .unit = ComparedUnit::kCelsius,
       .here = most_temperature(report),
       .other = most_temperature(other)});
  for (const ReportedFinding& finding : other.findings)
    if (finding.severity != "note") comparison.findings.push_back(finding);
  return comparison;
}

}  // namespace nadi::inline jobs
