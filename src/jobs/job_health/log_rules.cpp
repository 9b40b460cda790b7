// Rules over the scheduler's account, errors on stderr and settings.
#include <algorithm>
#include <array>

#include "nadi/base/format.h"
#include "nadi/base/shorten.h"
#include "nadi/job_health/health_rules.h"
#include "nadi/job_health/spoken_date.h"
#include "nadi/job_health/spoken_duration.h"

namespace nadi::inline jobs {
namespace {

constexpr std::size_t kMostErrorFindings = 8;
constexpr std::size_t kShownText = 160;

// Reasons of waiting that do not go away by waiting.
constexpr std::array<std::string_view, 9> kHopeless{
    "DependencyNeverSatisfied", "BadConstraints", "PartitionNodeLimit",
    "PartitionTimeLimit",       "JobHeldUser",    "JobHeldAdmin",
    "ReqNodeNotAvail",          "launch failed",  "InvalidAccount"};

std::string ending_text(const JobStatus& status) {
  std::string text = format("job {} {}", status.id,
                            status.state == JobState::kTimedOut      ? "reached its time limit"
                            : status.state == JobState::kCancelled   ? "was cancelled"
                            : status.state == JobState::kOutOfMemory ? "ran out of memory"
                            : status.state == JobState::kNodeFailed  ? "lost a node"
                            : status.state == JobState::kPreempted   ? "was preempted"
                                                                     : "failed");
  if (status.exit_code && *status.exit_code != 0) text += format(" with exit code {}", *status.exit_code);
  if (status.signal && *status.signal != 0) text += format(", by signal {}", *status.signal);
  if (status.death) text += ": " + status.death->text();
  return text;
}

// A folder of long ago that no scheduler knows.
void find_unknown_end(const JobObservation& seen, const JobProgress& progress, HealthFindings& findings) {
  const bool explained = std::ranges::any_of(
      seen.log.errors, [](const ErrorGroup& group) { return group.sort != ErrorSort::kError; });
  std::optional<RankDeath> death;
  for (const std::filesystem::path& folder : seen.log.folders)
    if (!death) death = find_rank_death(folder);
  HealthFinding finding{
      .rule = HealthRule::kNotRunning,
      .severity = HealthSeverity::kWarning,
      .text = format("ended {}: {}",
                     progress.iteration > 0
                         ? format("at iteration {} of {}", progress.iteration, progress.iterations)
                         : std::string("without an iteration"),
                     death       ? death->text()
                     : explained ? "see what stderr says"
                                 : "how is not known")};
  if (death) finding.evidence.push_back({.place = death->place, .text = death->line});
  finding.evidence.push_back(
      {.place = "",
       .text = format("the newest trace of it is of {}, {} ago", spoken_date(*progress.ended_about),
                      spoken_duration(seen.now - *progress.ended_about))});
  if (const NodeLog* const node = iteration_node(seen.log); node != nullptr && node->newest)
    finding.evidence.push_back(
        {.place = place_of(node->out, node->newest->line), .text = "the last line of an iteration"});
  if (seen.status) finding.evidence.push_back({.place = "scheduler", .text = "does not know the job"});
  findings.push_back(std::move(finding));
}

}  // namespace

void find_state(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings) {
  if (const JobProgress progress = progress_of(seen, limits); progress.ended_about)
    return find_unknown_end(seen, progress, findings);
  if (!seen.status) return;
  const JobStatus& status = *seen.status;
  HealthFinding finding{.rule = HealthRule::kNotRunning, .severity = HealthSeverity::kProblem};
  std::string said = status.said.empty() ? std::string(to_string(status.state)) : status.said;
  if (!status.reason.empty() && status.reason != "None") said += ", reason " + status.reason;
  finding.evidence.push_back({.place = "scheduler", .text = said});
  switch (status.state) {
    case JobState::kDone:
    case JobState::kEnding:
      return;
    case JobState::kRunning: {
      // Every node of a job that runs has files.
      if (status.elapsed < limits.least_stall || seen.log.nodes.empty()) return;
      for (const std::string& node : status.nodes)
        if (seen.log.find_node(node) == nullptr) finding.nodes.push_back(node);
      if (finding.nodes.empty() || finding.nodes.size() == status.nodes.size()) return;
      finding.severity = HealthSeverity::kWarning;
      finding.text = format("{} wrote nothing, {} after the start", names_of(finding.nodes),
                            spoken_duration(status.elapsed));
      break;
    }
    case JobState::kPending: {
      const bool hopeless = std::ranges::any_of(kHopeless, [&](std::string_view reason) {
        return status.reason.find(reason) != std::string::npos;
      });
      finding.severity = hopeless ? HealthSeverity::kProblem : HealthSeverity::kNote;
      finding.text =
          format("job {} waits: {}", status.id, status.reason.empty() ? "no reason is given" : status.reason);
      break;
    }
    case JobState::kSuspended:
      finding.severity = HealthSeverity::kWarning;
      finding.text = format("job {} is suspended", status.id);
      break;
    case JobState::kUnknown:
      finding.severity = HealthSeverity::kWarning;
      finding.text = format("the scheduler does not know the state of job {}", status.id);
      break;
    case JobState::kFailed:
    case JobState::kCancelled:
    case JobState::kTimedOut:
    case JobState::kOutOfMemory:
    case JobState::kNodeFailed:
    case JobState::kPreempted:
      finding.text = ending_text(status);
      if (status.death)
        finding.evidence.push_back({.place = status.death->place, .text = status.death->line});
      break;
  }
  findings.push_back(std::move(finding));
}

void find_errors(const JobObservation& seen, const HealthLimits&, HealthFindings& findings) {
  std::size_t shown = 0, more = 0;
  std::int64_t more_lines = 0;
  const bool goes_on =
      seen.status && (!has_ended(seen.status->state) || seen.status->state == JobState::kDone);
  for (const ErrorGroup& group : seen.log.errors) {
    // Only files that mark their starts tell errors of earlier ones apart.
    int newest = 0;
    for (const NodeLog& node : seen.log.nodes)
      if (std::ranges::find(group.nodes, node.name) != group.nodes.end())
        newest = std::max(newest, static_cast<int>(node.starts.size()) - 1);
    const bool earlier = group.start < newest && group.start_known;
    const bool ending = group.sort == ErrorSort::kEnding;
    if (ending && (goes_on || seen.status)) continue;  // the rule of the state speaks
    if (shown >= kMostErrorFindings) {
      ++more;
      more_lines += group.count;
      continue;
    }
    ++shown;
    HealthFinding finding{.rule = HealthRule::kErrors,
                          .severity = earlier ? HealthSeverity::kNote : HealthSeverity::kProblem,
                          .nodes = group.nodes};
    finding.text = format("{}{} on {}: {}", earlier ? "in an earlier start, " : "", to_string(group.sort),
                          names_of(group.nodes), shorten_middle(group.text, kShownText));
    finding.evidence.push_back(
        {.place = format("{}:{}", group.file, group.line),
         .text = group.count == 1 ? group.text : format("{} times, first: {}", group.count, group.text)});
    findings.push_back(std::move(finding));
  }
  if (more > 0)
    findings.push_back({.rule = HealthRule::kErrors,
                        .severity = HealthSeverity::kProblem,
                        .text = format("{} more kinds of errors on stderr", more),
                        .evidence = {{.place = "", .text = format("{} lines", more_lines)}}});
}

void find_settings(const JobObservation& seen, const HealthLimits&, HealthFindings& findings) {
  for (const SettingRow& row : compare_settings(seen.log, seen.asked)) {
    if (!row.differs) continue;
    HealthFinding finding{.rule = HealthRule::kSettings, .severity = HealthSeverity::kProblem};
    const std::string& reference = row.asked ? *row.asked : row.in_effect.front().text;
    if (row.asked)
      finding.evidence.push_back({.place = row.where, .text = format("{} = {}", row.name, *row.asked)});
    std::string others;
    std::vector<std::string> told;
    for (const SettingRow::Value& value : row.in_effect) {
      const bool other = !same_setting(reference, value.text);
      if (!row.asked || other)
        finding.evidence.push_back({.place = format("{}:{}", value.file, value.line),
                                    .text = format("{} = {}", value.printed_as, value.text)});
      if (!other) continue;
      for (const std::string& node : value.nodes)
        if (std::ranges::find(finding.nodes, node) == finding.nodes.end()) finding.nodes.push_back(node);
      // A script and its program may say the same.
      const std::string said = value.text.empty() ? "nothing" : value.text;
      if (std::ranges::find(told, said) != told.end()) continue;
      told.push_back(said);
      others += (others.empty() ? "" : ", ") +
                format("{} {} {}", names_of(value.nodes), value.nodes.size() == 1 ? "has" : "have", said);
    }
    finding.text = row.asked
                       ? format("{}: asked for {}, {}", row.name, reference, others)
                       : format("{}: {} {} {}, {}", row.name, names_of(row.in_effect.front().nodes),
                                row.in_effect.front().nodes.size() == 1 ? "has" : "have", reference, others);
    findings.push_back(std::move(finding));
  }
}

}  // namespace nadi::inline jobs
