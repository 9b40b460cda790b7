#include "nadi/job_report/folder_report.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/job_health/job_health.h"
#include "nadi/job_log/job_log.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTailLines = 20;
constexpr std::streamoff kTailBytes = 64 * 1024;

std::string time_text(const JobTime& time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), size};
}

// The last lines of a text, of at most 64 KiB.
std::vector<std::string> tail_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(size - kTailBytes, 0));
  std::vector<std::string> lines;
  std::string line;
  // The first may be the end of a line.
  if (size > kTailBytes) std::getline(file, line);
  while (std::getline(file, line)) lines.push_back(line);
  if (lines.size() > kTailLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kTailLines));
  return lines;
}

void add_status(const JobStatus& status, const std::string& prefix, ReportedScheduler& scheduler) {
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) scheduler.facts.emplace_back(prefix + std::string(name), value);
  };
  add("state", status.said.empty() ? std::string(to_string(status.state))
                                   : format("{} ({})", to_string(status.state), status.said));
  add("reason", status.reason);
  if (status.death)
    add("cause", format("{}; {}: {}", status.death->text(), status.death->place, status.death->line));
  if (status.exit_code) add("exit code", std::to_string(*status.exit_code));
  if (status.signal && *status.signal != 0) add("signal", std::to_string(*status.signal));
  if (status.submitted) add("submitted", time_text(*status.submitted));
  if (status.started) add("started", time_text(*status.started));
  if (status.ended) add("ended", time_text(*status.ended));
  if (status.elapsed.count() > 0)
    add("elapsed", to_string(Nanoseconds{status.elapsed.count() * 1'000'000'000}));
  add("restarts", std::to_string(status.restarts));
  add("partition", status.partition);
  std::string nodes, failed;
  for (const std::string& node : status.nodes) nodes += (nodes.empty() ? "" : ", ") + node;
  for (const std::string& node : status.failed_nodes) failed += (failed.empty() ? "" : ", ") + node;
  add("nodes", nodes);
  add("failed nodes", failed);
}

ReportedFinding reported(const HealthFinding& finding) {
  ReportedFinding made{.rule = std::string(to_string(finding.rule)),
                       .severity = std::string(to_string(finding.severity)),
                       .text = finding.text};
  for (const HealthEvidence& evidence : finding.evidence)
    made.evidence.push_back(evidence.place.empty() ? evidence.text
                                                   : format("{}: {}", evidence.place, evidence.text));
  return made;
}

// What is known beside the logs.
struct JobRecord {
  std::optional<ReportedScheduler> scheduler = {};
  std::optional<JobStatus> status = {};
  std::vector<AskedSetting> asked = {};
  std::vector<std::string> notes = {};
};

void ask_scheduler(const SubmittedJob& submitted, const fs::path& folder, JobRecord& record) {
  try {
    record.status =
        make_scheduler(submitted.scheduler, {.outputs = folder.parent_path()})->status(submitted.id);
  } catch (const Error& error) {
    record.notes.push_back(
        format("the scheduler does not tell about job {}: {}", submitted.id, error.what()));
    return;
  }
  add_status(*record.status, "", *record.scheduler);
  for (const JobStatus& component : record.status->components)
    add_status(component, component.id + " ", *record.scheduler);
}

JobRecord read_record(const std::vector<fs::path>& folders, const FolderReportOptions& options) {
  JobRecord record;
  if (options.old_settings) record.asked = asked_settings(*options.old_settings);
  for (const fs::path& folder : folders) {
    if (const std::optional<JobFile> job = read_job_of(folder); job && record.asked.empty())
      record.asked = asked_settings(*job);
    const std::optional<SubmittedJob> submitted = read_submitted_job(folder);
    if (submitted && !record.scheduler) {
      record.scheduler.emplace(ReportedScheduler{.scheduler = std::string(to_string(submitted->scheduler))});
      record.scheduler->facts.emplace_back("job", submitted->id);
      if (options.ask_scheduler) ask_scheduler(*submitted, folder, record);
    }
    if (std::vector<std::string> tail = tail_of(folder / "slurm.txt"); !tail.empty()) {
      if (!record.scheduler) record.scheduler.emplace(ReportedScheduler{.scheduler = "slurm"});
      record.scheduler->tail.insert(record.scheduler->tail.end(), tail.begin(), tail.end());
    }
  }
  return record;
}

}  // namespace

JobReport report_of_folders(const std::vector<fs::path>& folders, const FolderReportOptions& options) {
  JobRecord record = read_record(folders, options);
  const JobLog log = read_job_log(folders, {.progress = options.progress});
  std::optional<fs::path> plan = options.plan;
  for (const fs::path& folder : folders) {
    std::error_code problem;
    if (!plan && fs::is_regular_file(folder / "plan.json", problem)) plan = folder / "plan.json";
  }
  JobReport report = make_job_report(
      {.log = &log, .asked = record.asked, .scheduler = std::move(record.scheduler), .plan = plan});
  report.notes.insert(report.notes.end(), record.notes.begin(), record.notes.end());
  report.rules_asked = true;
  for (const HealthFinding& finding :
       job_findings({.log = log,
       .status = record.status,
       .asked = record.asked,
       .now = options.now,
       .timers = report.timers.iteration > 0 ? std::optional(report.timed_iteration) : std::nullopt}))
    report.findings.push_back(reported(finding));
  return report;
}

}  // namespace nadi::inline jobs
