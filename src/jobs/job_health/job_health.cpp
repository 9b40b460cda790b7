#include "nadi/job_health/job_health.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/job_health/health_rules.h"

namespace nadi::inline jobs {

std::chrono::seconds start_patience(std::optional<Nanoseconds> predicted_step) {
  const std::chrono::seconds usual = HealthLimits{}.startup;
  if (!predicted_step) return usual;
  return std::max(usual, std::chrono::seconds(predicted_step->count() / 1'000'000'000 * kStartSteps));
}

std::string_view to_string(HealthRule rule) {
  switch (rule) {
    case HealthRule::kNotRunning:
      return "not-running";
    case HealthRule::kIdleGpus:
      return "idle-gpus";
    case HealthRule::kErrors:
      return "errors";
    case HealthRule::kSettings:
      return "settings";
    case HealthRule::kNoProgress:
      return "no-progress";
    case HealthRule::kLoss:
      return "loss";
    case HealthRule::kPace:
      return "pace";
    case HealthRule::kSlowNode:
      return "slow-node";
    case HealthRule::kThrottledGpu:
      return "throttled-gpu";
    case HealthRule::kHotGpu:
      return "hot-gpu";
    case HealthRule::kMemoryFull:
      return "memory-full";
    case HealthRule::kMemoryGrows:
      return "memory-grows";
    case HealthRule::kRequeued:
      return "requeued";
  }
  unreachable();
}

std::string_view to_string(HealthSeverity severity) {
  switch (severity) {
    case HealthSeverity::kNote:
      return "note";
    case HealthSeverity::kWarning:
      return "warning";
    case HealthSeverity::kProblem:
      return "problem";
  }
  unreachable();
}

std::string place_of(const LogFile& file, std::int64_t line) {
  return format("{}:{}", file.path.filename().string(), line);
}

std::string names_of(const std::vector<std::string>& nodes) {
  constexpr std::size_t kNamed = 3;
  if (nodes.empty()) return "";
  if (nodes.size() == 1) return nodes[0];
  std::string text = nodes[0];
  const bool all = nodes.size() <= kNamed;
  const std::size_t named = all ? nodes.size() - 1 : kNamed - 1;
  for (std::size_t i = 1; i < named; ++i) text += ", " + nodes[i];
  return all ? format("{} and {}", text, nodes.back())
             : format("{} and {} others", text, nodes.size() - named);
}

std::vector<HealthFinding> job_findings(const JobObservation& observation, const HealthLimits& limits) {
  constexpr std::array kRules{&find_state,          &find_idle_gpus,     &find_errors, &find_settings,
                              &find_stall,          &find_bad_loss,      &find_pace,   &find_slow_nodes,
                              &find_device_trouble, &find_memory_growth, &find_requeue};
  HealthFindings findings;
  for (const auto rule : kRules) rule(observation, limits, findings);
  std::ranges::stable_sort(findings, std::greater{}, &HealthFinding::severity);
  return findings;
}

bool is_healthy(const std::vector<HealthFinding>& findings) {
  return std::ranges::none_of(
      findings, [](const HealthFinding& finding) { return finding.severity == HealthSeverity::kProblem; });
}

}  // namespace nadi::inline jobs
