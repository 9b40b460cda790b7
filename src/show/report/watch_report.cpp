#include "nadi/report/watch_report.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/shorten.h"
#include "nadi/base/version.h"
#include "nadi/job_files/job_time.h"
#include "nadi/job_health/spoken_duration.h"
#include "nadi/report/device_use.h"
#include "nadi/report/job_result_text.h"
#include "nadi/tables/text_table.h"
#include "nadi/terminal/full_screen.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

std::string health_words(const std::vector<HealthFinding>& findings) {
  const auto count = [&](HealthSeverity severity) {
    return std::ranges::count(findings, severity, &HealthFinding::severity);
  };
  const auto words = [](std::int64_t number, std::string_view one) {
    return format("{} {}{}", number, one, number == 1 ? "" : "s");
  };
  const std::int64_t problems = count(HealthSeverity::kProblem), warnings = count(HealthSeverity::kWarning);
  if (problems == 0 && warnings == 0) return "healthy";
  std::string text = problems > 0 ? words(problems, "problem") : "healthy";
  if (warnings > 0) text += ", " + words(warnings, "warning");
  return text;
}

Json number_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json bytes_or_null(const std::optional<Bytes>& value) {
  return value ? Json(value->count()) : Json(nullptr);
}

Json float_or_null(const std::optional<float>& value) {
  return value ? Json(std::round(static_cast<double>(*value) * 100) / 100) : Json(nullptr);
}

Json device_json(const DeviceLog& device) {
  return {{"kind", device.kind == DeviceLog::Kind::kGpu ? "gpu" : "cpu"},
          {"index", device.index},
          {"name", device.name},
          {"use_percent", float_or_null(device.last.utilisation)},
          {"degrees_celsius", float_or_null(device.last.temperature)},
          {"memory_used_bytes", bytes_or_null(device.last.memory_used)},
          {"memory_bytes", bytes_or_null(device.memory_total)},
          {"throttle_bits", device.last.throttle},
          {"sampled_at", device.last.time ? Json(*device.last.time) : Json(nullptr)}};
}

std::string_view last_line(const NodeLog& node) {
  for (const LogFile* file : {&node.out, &node.err})
    for (std::size_t i = file->tail.size(); i-- > 0;)
      if (file->tail[i].find_first_not_of(" \t-") != std::string::npos) return file->tail[i];
  return "";
}

std::int64_t left_out(const JobLog& log) {
  std::int64_t lines = 0;
  for (const NodeLog& node : log.nodes)
    lines += node.out.damaged_lines + node.err.damaged_lines + node.gpu.damaged_lines;
  return lines;
}

}  // namespace

std::string state_word(const WatchedState& state) {
  if (state.status && state.status->state != JobState::kUnknown)
    return std::string(to_string(state.status->state));
  if (state.progress.done) return "done";
  if (state.log.nodes.empty()) return "nothing written yet";
  if (state.progress.ended_about) return "ended";
  return state.runs ? "running" : "ended or silent";
}

std::string finding_line(const HealthFinding& finding) {
  std::string places;
  for (const HealthEvidence& evidence : finding.evidence)
    if (!evidence.place.empty() && places.find(evidence.place) == std::string::npos)
      places += (places.empty() ? "" : ", ") + evidence.place;
  // The place first: a line that is cut still says where to look.
  return format("{}{}: {}", to_string(finding.severity), places.empty() ? "" : " (" + places + ")",
                finding.text);
}

std::string watch_line(const WatchedState& state) {
  std::string text = state_word(state);
  const JobProgress& progress = state.progress;
  if (state.status && state.status->state == JobState::kPending && !state.status->reason.empty())
    text += format(" ({})", state.status->reason);
  if (progress.iteration > 0) {
    text += format(", iteration {} of {}", progress.iteration, progress.iterations);
    if (progress.iteration_time) text += format(", {} each", to_string(*progress.iteration_time));
    if (progress.left && !progress.done)
      text +=
          format(", {} left", spoken_duration(std::chrono::seconds(progress.left->count() / 1'000'000'000)));
    if (progress.loss) text += format(", loss {:.4f}", *progress.loss);
    if (progress.tokens_per_second) text += format(", {:.0f} tokens/s", *progress.tokens_per_second);
    if (progress.tflops_per_rank) text += format(", {:.1f} TFLOP/s per GPU", *progress.tflops_per_rank);
  }
  if (const std::string use = device_use_text(state.log); !use.empty()) text += ", " + use;
  return text + ", " + health_words(state.findings);
}

std::string used_time_text(const JobStatus& status) {
  if (status.state == JobState::kPending) return "";
  return job_time_text(status.elapsed) + (status.limit ? " of " + job_time_text(*status.limit) : "");
}

void print_watch(const WatchedState& state, std::ostream& out, const ReportStyle& style) {
  out << style.heading(state.title) << "\n" << watch_line(state) << "\n";
  if (state.status) {
    const JobStatus& status = *state.status;
    out << format("scheduler: {}{}", status.said.empty() ? to_string(status.state) : status.said,
                  status.reason.empty() || status.reason == "None" ? "" : ", reason " + status.reason);
    if (const std::string time = used_time_text(status); !time.empty()) out << ", " << time;
    out << "\n";
  }
  if (!state.status_problem.empty()) out << "scheduler: " << state.status_problem << "\n";
  for (const HealthFinding& finding : state.findings) {
    out << format("{}: {}\n", to_string(finding.severity), screen_text(finding.text, style.width * 4));
    for (const HealthEvidence& evidence : finding.evidence)
      out << format("    {}{}\n", evidence.place.empty() ? "" : evidence.place + ": ",
                    screen_text(evidence.text, style.width * 4));
  }
  print_four_rules(state.verdicts, out, style);
  if (!state.log.nodes.empty()) {
    TextTable table(
        {{"node", Align::kLeft}, {"use"}, {"memory"}, {"hottest"}, {"errors"}, {"last line", Align::kLeft}});
    std::size_t widest = 4;
    for (const NodeLog& node : state.log.nodes) widest = std::max(widest, node.name.size());
    const std::size_t rest = style.width > widest + 48 ? style.width - widest - 48 : 20;
    for (const NodeLog& node : state.log.nodes) {
      const NodeUse use = use_of(node);
      std::int64_t errors = 0;
      for (const ErrorGroup& group : node.errors) errors += group.count;
      table.add_row({node.name, use.percent ? format("{:.0f} %", *use.percent) : "-", memory_text(use),
                     use.degrees ? format("{:.0f} C", *use.degrees) : "-", format("{}", errors),
                     cut_line(screen_text(last_line(node), 4 * rest), rest)});
    }
    out << table.to_string({.bold_titles = style.colour, .width = style.table_width});
  }
  if (const std::int64_t lines = left_out(state.log); lines > 0)
    out << format("lines that were cut or damaged: {}\n", lines);
}

Json watch_json(const WatchedState& state) {
  const JobProgress& progress = state.progress;
  Json findings = Json::array();
  for (const HealthFinding& finding : state.findings) {
    Json evidence = Json::array();
    for (const HealthEvidence& one : finding.evidence)
      evidence.push_back({{"place", one.place}, {"text", one.text}});
    findings.push_back({{"rule", to_string(finding.rule)},
                        {"severity", to_string(finding.severity)},
                        {"text", finding.text},
                        {"nodes", finding.nodes},
                        {"evidence", std::move(evidence)}});
  }
  Json rules = Json::array();
  for (const JobVerdict& verdict : state.verdicts) {
    Json evidence = Json::array();
    for (const HealthEvidence& one : verdict.evidence)
      evidence.push_back({{"place", one.place}, {"text", one.text}});
    rules.push_back({{"number", verdict.number},
                     {"rule", verdict.rule},
                     {"answer", to_string(verdict.answer)},
                     {"text", verdict.text},
                     {"evidence", std::move(evidence)}});
  }
  Json nodes = Json::array();
  for (const NodeLog& node : state.log.nodes) {
    Json devices = Json::array();
    for (const DeviceLog& device : node.devices) devices.push_back(device_json(device));
    std::int64_t errors = 0;
    for (const ErrorGroup& group : node.errors) errors += group.count;
    nodes.push_back({{"name", node.name},
                     {"folder", state.log.folders.at(node.folder).string()},
                     {"starts", node.starts.size()},
                     {"error_lines", errors + node.errors_left_out},
                     {"warning_lines", node.warnings},
                     {"last_line", last_line(node)},
                     {"devices", std::move(devices)}});
  }
  Json errors = Json::array();
  for (const ErrorGroup& group : state.log.errors)
    errors.push_back({{"sort", to_string(group.sort)},
                      {"text", group.text},
                      {"count", group.count},
                      {"place", format("{}:{}", group.file, group.line)},
                      {"nodes", group.nodes}});
  Json folders = Json::array();
  for (const std::filesystem::path& folder : state.log.folders) folders.push_back(folder.string());
  const std::optional<JobStatus>& status = state.status;
  return {{"nadi_version", version()},
          {"job", state.title},
          {"folders", std::move(folders)},
          {"time", state.now.time_since_epoch().count()},
          {"state", state_word(state)},
          {"scheduler_state", status ? Json(status->said) : Json(nullptr)},
          {"scheduler_problem", state.status_problem.empty() ? Json(nullptr) : Json(state.status_problem)},
          {"reason", status && !status->reason.empty() ? Json(status->reason) : Json(nullptr)},
          {"exit_code", status && status->exit_code ? Json(*status->exit_code) : Json(nullptr)},
          {"elapsed_s", status ? Json(status->elapsed.count()) : Json(nullptr)},
          {"iteration", progress.iteration > 0 ? Json(progress.iteration) : Json(nullptr)},
          {"iterations", progress.iterations > 0 ? Json(progress.iterations) : Json(nullptr)},
          {"iteration_ns", progress.iteration_time ? Json(progress.iteration_time->count()) : Json(nullptr)},
          {"left_ns", progress.left ? Json(progress.left->count()) : Json(nullptr)},
          {"loss", number_or_null(progress.loss)},
          {"tflops_per_gpu", number_or_null(progress.tflops_per_rank)},
          {"tokens_per_second", number_or_null(progress.tokens_per_second)},
          {"done", progress.done},
          {"healthy", is_healthy(state.findings)},
          {"findings", std::move(findings)},
          {"rules", std::move(rules)},
          {"nodes", std::move(nodes)},
          {"errors", std::move(errors)},
          {"damaged_lines", left_out(state.log)},
          {"log_bytes", state.log.size.count()}};
}

}  // namespace nadi::inline show
