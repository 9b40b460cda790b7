#include "nadi/scheduler/job_folder.h"

#include <algorithm>
#include <utility>

#include "nadi/base/ascii.h"
#include "nadi/base/atomic_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/natural_order.h"
#include "nadi/plan/plan_file.h"
#include "nadi/scheduler/job_registry.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSubmittedVersion = 1;
constexpr std::array<std::string_view, 6> kSubmittedKeys = {"nadi_submitted", "scheduler", "id",
                                                            "component_ids",  "time",      "plan"};

std::string time_text(JobTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                clock.minutes().count(), clock.seconds().count());
}

JobTime time_at(const JsonValue& value) {
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0, second = 0, length = 0;
  const std::string& text = value.as_string();
  const int read = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2dZ%n", &year, &month, &day, &hour,
                               &minute, &second, &length);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (read != 6 || length != std::ssize(text) || !date.ok() || hour > 23 || minute > 59 || second > 60)
    throw error_at(value, format("'{}' is no time", text), "2026-01-31T12:00:00Z");
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

// "jobs/12" and "jobs/12/" are both "12".
std::string name_of(const fs::path& folder) {
  const fs::path normal = folder.lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

// jobs/12 for jobs/12_3, where the former is the folder of a job.
std::optional<fs::path> sweep_of_run(const fs::path& folder) {
  const std::string name = name_of(folder);
  const std::size_t line = name.rfind('_');
  if (line == std::string::npos || line == 0 || line + 1 == name.size() ||
      !std::ranges::all_of(std::string_view(name).substr(line + 1), is_digit))
    return std::nullopt;
  const fs::path sweep = (folder / ".." / name.substr(0, line)).lexically_normal();
  std::error_code error;
  if (!fs::is_regular_file(sweep / "submitted.json", error)) return std::nullopt;
  return sweep;
}

}  // namespace

void write_job_files(const JobFile& job, const fs::path& folder, std::string_view script) {
  write_atomically(folder / "job.json", job_file_text(job), Overwrite::kAllow);
  write_atomically(folder / "script.sh", script, Overwrite::kAllow);
  if (!job.plan.empty()) write_plan_file(read_plan_file(job.plan), folder / "plan.json", Overwrite::kAllow);
}

void write_job_folder(const JobFile& job, const SubmittedJob& submitted, std::string_view script) {
  const fs::path& folder = submitted.folder;
  write_job_files(job, folder, script);
  Json root{{"nadi_submitted", kSubmittedVersion},
            {"scheduler", to_string(submitted.scheduler)},
            {"id", submitted.id},
            {"component_ids", submitted.component_ids},
            {"time", time_text(submitted.time)}};
  if (!job.plan.empty()) root["plan"] = job.plan.string();
  write_atomically(folder / "submitted.json", dump_json(root), Overwrite::kAllow);
}

std::optional<SubmittedJob> read_submitted_job(const fs::path& folder) {
  const fs::path path = folder / "submitted.json";
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    const auto sweep = sweep_of_run(folder);
    auto run = sweep ? read_submitted_job(*sweep) : std::nullopt;
    if (!run) return std::nullopt;
    run->sweep = std::exchange(run->id, name_of(folder));
    run->folder = folder;
    return run;
  }
  const JsonDocument document = read_json(path);
  const JsonValue root = document.root();
  root.refuse_keys_except(kSubmittedKeys);
  if (const std::int64_t version = root.at("nadi_submitted").as_int64(); version != kSubmittedVersion)
    throw error_at(
        root.at("nadi_submitted"),
        format("version {} of the format; this program knows version {}", version, kSubmittedVersion));
  SubmittedJob job{.id = root.at("id").as_string(), .folder = folder};
  const std::string& scheduler = root.at("scheduler").as_string();
  if (scheduler == to_string(SchedulerKind::kLocal))
    job.scheduler = SchedulerKind::kLocal;
  else if (scheduler != to_string(SchedulerKind::kSlurm))
    throw error_at(root.at("scheduler"), format("unknown scheduler '{}'", scheduler), "known: slurm, local");
  for (const JsonValue& id : root.at("component_ids").elements()) job.component_ids.push_back(id.as_string());
  job.time = time_at(root.at("time"));
  return job;
}

std::optional<JobFile> read_job_of(const fs::path& folder) {
  const fs::path path = folder / "job.json";
  std::error_code error;
  if (fs::is_regular_file(path, error)) return read_job_file(path);
  const auto sweep = sweep_of_run(folder);
  return sweep ? read_job_of(*sweep) : std::nullopt;
}

std::vector<std::string> runs_of_sweep(const fs::path& folder) {
  std::vector<std::string> runs;
  const std::string begin = name_of(folder) + "_";
  std::error_code error;
  for (fs::directory_iterator entry(folder.lexically_normal() / "..", error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && sweep_of_run(entry->path())) runs.push_back(std::move(name));
  }
  std::ranges::sort(runs, natural_less);
  return runs;
}

Error run_is_not_resumed(const SubmittedJob& run) {
  return usage_error(
      format("{} is a run of sweep {}, which is submitted again as a whole", run.id, run.sweep),
      format("nadi job resume {}", run.sweep));
}

std::vector<fs::path> job_folders(const fs::path& outputs) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(outputs, error), end; !error && entry != end; entry.increment(error))
    if (fs::is_regular_file(entry->path() / "submitted.json", error)) folders.push_back(entry->path());
  std::ranges::sort(folders, [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return folders;
}

std::optional<fs::path> find_job_folder(const std::string& job, const fs::path& outputs) {
  std::error_code error;
  if (job.find('/') == std::string::npos && !job.empty() && fs::is_directory(outputs / job, error))
    return outputs / job;
  if (job.empty() || !fs::is_directory(job, error)) return registered_job(job);
  // "jobs/12/", as shells complete it: its parent is jobs.
  const std::size_t end = job.find_last_not_of('/');
  return fs::path(job.substr(0, end == std::string::npos ? 1 : end + 1));
}

}  // namespace nadi::inline jobs
