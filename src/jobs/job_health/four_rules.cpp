#include "nadi/job_health/four_rules.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline jobs {
namespace {

// The worst finding of a rule decides; notes do not.
bool take_findings(JobVerdict& verdict, const std::vector<HealthFinding>& findings, HealthRule rule) {
  for (const HealthFinding& finding : findings) {
    if (finding.rule != rule || finding.severity == HealthSeverity::kNote) continue;
    if (verdict.answer != JobAnswer::kBad) {
      verdict.answer = JobAnswer::kBad;
      verdict.text = finding.text;
    }
    verdict.evidence.insert(verdict.evidence.end(), finding.evidence.begin(), finding.evidence.end());
  }
  return verdict.answer == JobAnswer::kBad;
}

std::string counted(std::int64_t number, std::string_view one) {
  return format("{} {}{}", number, one, number == 1 ? "" : "s");
}

JobVerdict scheduler_verdict(const JobObservation& seen, const std::vector<HealthFinding>& findings) {
  JobVerdict verdict{.number = 1, .rule = "scheduler"};
  if (take_findings(verdict, findings, HealthRule::kNotRunning)) return verdict;
  if (!seen.status || seen.status->state == JobState::kUnknown) {
    verdict.text = "no scheduler knows the job";
    if (seen.status) verdict.evidence.push_back({.place = "scheduler", .text = seen.status->said});
    return verdict;
  }
  const JobStatus& status = *seen.status;
  verdict.text = std::string(to_string(status.state));
  if (status.state != JobState::kPending) verdict.answer = JobAnswer::kGood;
  verdict.evidence.push_back(
      {.place = "scheduler", .text = status.said.empty() ? verdict.text : status.said});
  return verdict;
}

JobVerdict gpu_verdict(const JobObservation& seen, const std::vector<HealthFinding>& findings) {
  JobVerdict verdict{.number = 2, .rule = "gpus"};
  if (take_findings(verdict, findings, HealthRule::kIdleGpus)) return verdict;
  std::int64_t gpus = 0, used = 0;
  for (const NodeLog& node : seen.log.nodes)
    for (const DeviceLog& device : node.devices) {
      if (device.kind != DeviceLog::Kind::kGpu) continue;
      ++gpus;
      const bool works = std::ranges::any_of(device.recent, [](const DeviceSample& sample) {
        return sample.process_seen || sample.utilisation.value_or(0) > 0;
      });
      if (!works) continue;
      ++used;
      if (used == 1)
        verdict.evidence.push_back({.place = node.gpu.path.filename().string(),
                                    .text = format("GPU {} ({}): {:.0f} %", device.index, device.name,
                                                   device.last.utilisation.value_or(0))});
    }
  if (gpus == 0) {
    verdict.text = "no file of a node has samples of GPUs";
  } else if (!runs_now(seen)) {
    verdict.text = "not asked: the job does not run";
    verdict.evidence.clear();
  } else if (used > 0) {
    verdict.answer = JobAnswer::kGood;
    verdict.text = format("{} of {} in use", used, counted(gpus, "GPU"));
  } else {
    verdict.text = format("none of {} in use; not for long enough to judge", counted(gpus, "GPU"));
  }
  return verdict;
}

JobVerdict error_verdict(const JobObservation& seen, const std::vector<HealthFinding>& findings) {
  JobVerdict verdict{.number = 3, .rule = "errors"};
  if (take_findings(verdict, findings, HealthRule::kErrors)) return verdict;
  std::int64_t files = 0, lines = 0, warnings = 0;
  for (const NodeLog& node : seen.log.nodes) {
    if (node.err.path.empty()) continue;
    ++files;
    lines += node.err.lines;
    warnings += node.warnings;
    if (warnings > 0 && verdict.evidence.empty())
      verdict.evidence.push_back({.place = node.err.path.filename().string(),
                                  .text = counted(node.warnings, "line") + " of warnings"});
  }
  if (files == 0) {
    verdict.text = "no node has written a file of errors";
    return verdict;
  }
  verdict.answer = JobAnswer::kGood;
  verdict.text = format("no error in {} of {}; {}", counted(lines, "line"), counted(files, "file"),
                        warnings == 0 ? "no warnings" : counted(warnings, "line") + " of warnings");
  return verdict;
}

JobVerdict setting_verdict(const JobObservation& seen, const std::vector<HealthFinding>& findings) {
  JobVerdict verdict{.number = 4, .rule = "settings"};
  if (take_findings(verdict, findings, HealthRule::kSettings)) return verdict;
  std::int64_t asked = 0, in_effect = 0;
  std::string missing;
  for (const SettingRow& row : compare_settings(seen.log, seen.asked)) {
    if (!row.asked) continue;
    ++asked;
    if (row.in_effect.empty()) {
      missing += (missing.empty() ? "" : ", ") + row.name;
      continue;
    }
    ++in_effect;
    if (verdict.evidence.size() < 3)
      verdict.evidence.push_back(
          {.place = format("{}:{}", row.in_effect.back().file, row.in_effect.back().line),
           .text = format("{} {}, asked for {} in {}", row.in_effect.back().printed_as,
                          row.in_effect.back().text, *row.asked, row.where)});
  }
  if (asked == 0) {
    verdict.text = "nobody says what was asked for";
  } else if (in_effect == 0) {
    verdict.text = format("{} asked for, and no node has printed its settings", counted(asked, "setting"));
  } else {
    verdict.answer = JobAnswer::kGood;
    verdict.text = format("{} of {} asked for are in effect{}", in_effect, counted(asked, "setting"),
                          missing.empty() ? "" : "; nobody prints " + missing);
  }
  return verdict;
}

}  // namespace

std::string_view to_string(JobAnswer answer) {
  switch (answer) {
    case JobAnswer::kGood:
      return "good";
    case JobAnswer::kBad:
      return "bad";
    case JobAnswer::kUnknown:
      return "unknown";
  }
  unreachable();
}

std::vector<JobVerdict> four_rules(const JobObservation& seen, const std::vector<HealthFinding>& findings) {
  return {scheduler_verdict(seen, findings), gpu_verdict(seen, findings), error_verdict(seen, findings),
          setting_verdict(seen, findings)};
}

}  // namespace nadi::inline jobs
