#include "nadi/report/jobs_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "nadi/base/ascii.h"
#include "nadi/base/format.h"
#include "nadi/base/natural_order.h"
#include "nadi/terminal/printable.h"

namespace nadi::inline show {
namespace {

// "1-02:03:04", "2:03:04", "3:04": as Slurm's commands show it.
std::string clock_text(std::chrono::seconds time) {
  const std::int64_t all = time.count();
  const std::int64_t days = all / 86'400, hours = all / 3600 % 24, minutes = all / 60 % 60,
                     seconds = all % 60;
  if (days > 0) return format("{}-{:02}:{:02}:{:02}", days, hours, minutes, seconds);
  if (hours > 0) return format("{}:{:02}:{:02}", hours, minutes, seconds);
  return format("{}:{:02}", minutes, seconds);
}

ReportCell text_or_none(std::string text) {
  if (text.empty()) return std::monostate();
  return text;
}
ReportCell integer_or_none(const std::optional<int>& value) {
  if (!value) return std::monostate();
  return std::int64_t{*value};
}
ReportCell seconds_or_none(const std::optional<std::chrono::seconds>& value) {
  if (!value) return std::monostate();
  return static_cast<double>(value->count());
}
// For programs: seconds since 1970.
ReportCell epoch_or_none(const std::optional<JobTime>& time) {
  if (!time) return std::monostate();
  return static_cast<std::int64_t>(time->time_since_epoch().count());
}

// Why it waits, or how it ended.
std::string why_text(const JobStatus& job) {
  if (!has_ended(job.state)) return job.reason;
  if (job.signal.value_or(0) != 0) return format("signal {}", *job.signal);
  if (job.exit_code.value_or(0) != 0) return format("exit code {}", *job.exit_code);
  return "";
}

// The line may hold anything: a launcher's words, and names of nodes.
std::vector<std::string> cause_words(const JobStatus& job) {
  if (!job.death) return {};
  return {job.death->text() + ";", job.death->place + ":", printable(job.death->line)};
}

// Splits "n08" into "n", 8 and the width 2; nothing when it does not end in a number.
struct NumberedName {
  std::string_view stem;
  std::int64_t number = 0;
  std::size_t width = 0;
};
std::optional<NumberedName> numbered(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  if (begin == name.size() || name.size() - begin > 9) return std::nullopt;
  NumberedName parts{.stem = name.substr(0, begin), .width = name.size() - begin};
  std::from_chars(name.data() + begin, name.data() + name.size(), parts.number);
  return parts;
}

}  // namespace

std::string job_time_shown(const std::optional<JobTime>& time) {
  if (!time) return "";
  const std::time_t seconds = std::chrono::system_clock::to_time_t(*time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts));
}

std::string nodes_text(std::span<const std::string> nodes) {
  std::vector<std::string> sorted(nodes.begin(), nodes.end());
  std::ranges::sort(sorted, natural_less);
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    const auto first = numbered(sorted[i]);
    while (first && last + 1 < sorted.size()) {
      const auto next = numbered(sorted[last + 1]);
      if (!next || next->stem != first->stem || next->width != first->width ||
          next->number != first->number + static_cast<std::int64_t>(last + 1 - i))
        break;
      ++last;
    }
    if (!text.empty()) text += ',';
    text += sorted[i];
    if (last > i) text += (last == i + 1 ? "," : "-") + sorted[last];
    i = last + 1;
  }
  return text;
}

ReportTable jobs_table(std::span<const JobStatus> jobs) {
  ReportTable table{.name = "jobs",
                    .title = "Jobs",
                    .columns = {{"id", "id", CellKind::kText},
                                {"name", "", CellKind::kText, Shown::kToPrograms},
                                {"", "name", CellKind::kText},
                                {"state", "state", CellKind::kText},
                                {"", "time", CellKind::kFigure},
                                {"elapsed_seconds", "", CellKind::kNumber, Shown::kToPrograms},
                                {"", "limit", CellKind::kFigure},
                                {"limit_seconds", "", CellKind::kNumber, Shown::kToPrograms},
                                {"restarts", "restarts", CellKind::kCount, Shown::kUnlessZero},
                                {"partition", "partition", CellKind::kText, Shown::kIfRoom},
                                {"nodes", "nodes", CellKind::kText},
                                {"", "why", CellKind::kText},
                                {"said", "", CellKind::kText, Shown::kToPrograms},
                                {"reason", "", CellKind::kText, Shown::kToPrograms},
                                {"exit_code", "", CellKind::kCount, Shown::kToPrograms},
                                {"signal", "", CellKind::kCount, Shown::kToPrograms},
                                {"submitted", "", CellKind::kCount, Shown::kToPrograms},
                                {"started", "", CellKind::kCount, Shown::kToPrograms},
                                {"ended", "", CellKind::kCount, Shown::kToPrograms},
                                {"user", "", CellKind::kText, Shown::kToPrograms},
                                {"folder", "folder", CellKind::kText, Shown::kIfRoom}}};
  for (const JobStatus& job : jobs)
    table.rows.push_back({job.id,
                          job.name,
                          printable(job.name),
                          std::string(to_string(job.state)),
                          clock_text(job.elapsed),
                          static_cast<double>(job.elapsed.count()),
                          text_or_none(job.limit ? clock_text(*job.limit) : ""),
                          seconds_or_none(job.limit),
                          job.restarts,
                          job.partition,
                          text_or_none(nodes_text(job.nodes)),
                          text_or_none(why_text(job)),
                          job.said,
                          text_or_none(job.reason),
                          integer_or_none(job.exit_code),
                          integer_or_none(job.signal),
                          epoch_or_none(job.submitted),
                          epoch_or_none(job.started),
                          epoch_or_none(job.ended),
                          job.user,
                          text_or_none(job.folder.string())});
  return table;
}

std::vector<ReportFact> job_facts(const JobStatus& job, JobTime now) {
  const bool waits = job.state == JobState::kPending;
  const auto ago = [&](const std::optional<JobTime>& time) -> std::string {
    if (!time) return "";
    const auto apart = *time > now ? *time - now : now - *time;
    return *time > now ? format("{} (in {})", job_time_shown(time), clock_text(apart))
                       : format("{} ({} ago)", job_time_shown(time), clock_text(apart));
  };
  const auto shown = [&](std::string_view title, const std::string& text) {
    return ReportFact{{"", std::string(title), CellKind::kText}, text_or_none(text)};
  };
  const auto told = [&](std::string_view key, CellKind kind, ReportCell value) {
    return ReportFact{{std::string(key), "", kind, Shown::kToPrograms}, std::move(value)};
  };
  const std::string state = std::string(to_string(job.state));
  const std::string why = why_text(job);
  return {{{"id", "job", CellKind::kText}, job.id},
          {{"name", "name", CellKind::kText}, job.name},
          {{"state", "state", CellKind::kText},
           state,
           {why.empty() ? format("{} ({})", state, job.said) : format("{} ({}): {}", state, job.said, why)}},
          {{"", "cause", CellKind::kText}, ReportCell{}, cause_words(job)},
          told("said", CellKind::kText, job.said),
          told("cause", CellKind::kText, text_or_none(job.death ? job.death->text() : "")),
          told("cause_place", CellKind::kText, text_or_none(job.death ? job.death->place : "")),
          told("cause_line", CellKind::kText, text_or_none(job.death ? job.death->line : "")),
          told("reason", CellKind::kText, text_or_none(job.reason)),
          told("exit_code", CellKind::kCount, integer_or_none(job.exit_code)),
          told("signal", CellKind::kCount, integer_or_none(job.signal)),
          {{"restarts", "restarts", CellKind::kCount, Shown::kUnlessZero}, job.restarts},
          shown("failed nodes", nodes_text(job.failed_nodes)),
          {{"partition", "partition", CellKind::kText}, job.partition},
          shown("nodes", nodes_text(job.nodes)),
          {{"user", "user", CellKind::kText}, text_or_none(job.user)},
          shown("submitted", ago(job.submitted)),
          shown(waits ? "starts at" : "started", ago(job.started)),
          shown("ended", ago(job.ended)),
          shown("time", job.limit ? format("{} of {}", clock_text(job.elapsed), clock_text(*job.limit))
                                  : clock_text(job.elapsed)),
          told("submitted", CellKind::kCount, epoch_or_none(job.submitted)),
          told("started", CellKind::kCount, epoch_or_none(job.started)),
          told("ended", CellKind::kCount, epoch_or_none(job.ended)),
          told("elapsed_seconds", CellKind::kNumber, static_cast<double>(job.elapsed.count())),
          told("limit_seconds", CellKind::kNumber, seconds_or_none(job.limit)),
          {{"folder", "folder", CellKind::kText}, text_or_none(job.folder.string())}};
}

Json job_json(const JobStatus& job) {
  Json root = facts_json(job_facts(job, {}));
  root["nodes"] = job.nodes;
  root["failed_nodes"] = job.failed_nodes;
  root["components"] = table_json(jobs_table(job.components));
  return root;
}

std::string job_text(const JobStatus& job, JobTime now, const ReportStyle& style) {
  constexpr std::size_t kColumn = 14;
  std::string text = facts_text(job_facts(job, now), kColumn, style.width);
  if (job.components.empty()) return text;
  ReportTable table = jobs_table(job.components);
  table.title = "Parts";
  return text + "\n" +
         table_text(table, {.rows = 0, .bold_titles = style.colour, .width = style.table_width});
}

}  // namespace nadi::inline show
