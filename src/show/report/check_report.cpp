#include "nadi/report/check_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/units.h"
#include "nadi/base/version.h"
#include "nadi/check/check_traces.h"
#include "nadi/terminal/printable.h"

namespace nadi::inline show {
namespace {

// The verdict of one simulator on all files. A point that several files share is listed once.
struct PointOfAll {
  SimulatorPoint point;  // with the nodes of all files
  std::uint64_t files = 0;
  const CheckedFile* first = nullptr;
};
struct VerdictOfAll {
  const Simulator* simulator = nullptr;
  std::uint64_t files = 0;
  std::uint64_t refused = 0;
  std::vector<PointOfAll> refusals;
  std::vector<PointOfAll> remarks;
};

void merge(std::vector<PointOfAll>& all, const std::vector<SimulatorPoint>& points, const CheckedFile& file) {
  for (const SimulatorPoint& point : points) {
    const std::string kind = point.what.substr(0, point.what.find(':'));
    const auto known = std::ranges::find_if(all, [&](const PointOfAll& entry) {
      return entry.point.what.substr(0, entry.point.what.find(':')) == kind;
    });
    if (known == all.end()) {
      all.push_back({.point = point, .files = 1, .first = &file});
    } else {
      known->point.nodes += point.nodes;
      ++known->files;
    }
  }
}

std::vector<VerdictOfAll> verdicts_of_all(const CheckReport& report) {
  std::vector<VerdictOfAll> all;
  for (std::size_t i = 0; i < simulators().size(); ++i) {
    VerdictOfAll& entry = all.emplace_back();
    entry.simulator = &simulators()[i];
    for (const CheckedFile& file : report.files) {
      if (!file.readable) continue;
      ++entry.files;
      if (!file.verdicts[i].takes()) ++entry.refused;
      merge(entry.refusals, file.verdicts[i].refusals, file);
      merge(entry.remarks, file.verdicts[i].remarks, file);
    }
  }
  return all;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<std::uint64_t> number(const std::optional<TraceNodeId>& node) {
  return node ? std::optional(to_number(*node)) : std::nullopt;
}

Json points_json(const std::vector<PointOfAll>& points) {
  Json list = Json::array();
  for (const PointOfAll& entry : points)
    list.push_back({{"what", entry.point.what},
                    {"nodes", entry.point.nodes},
                    {"files", entry.files},
                    {"first_file", entry.first->path.string()},
                    {"first_rank", or_null(entry.first->rank)},
                    {"first_node", or_null(number(entry.point.first))},
                    {"first_node_name", entry.point.first ? Json(entry.point.first_name) : Json(nullptr)}});
  return list;
}

std::string counted(std::uint64_t count, std::string_view what) {
  return format("{} {}{}", with_thousands(static_cast<std::int64_t>(count)), what, count == 1 ? "" : "s");
}

// "out/run.0.et: rank 0, node 17 'aten::mm': "
std::string place_of(const Finding& finding) {
  std::string place = printable(finding.file) + ": ";
  std::string within;
  if (finding.rank) within += format("rank {}", *finding.rank);
  if (finding.node)
    within += format("{}node {} {}", within.empty() ? "" : ", ", to_number(*finding.node),
                     quote_for_message(finding.node_name));
  if (!within.empty()) place += within + ": ";
  return place;
}

std::string painted(Severity severity, std::string_view text, bool colour) {
  if (!colour) return std::string(text);
  switch (severity) {
    case Severity::kError:
      return format("\033[1;31m{}\033[0m", text);
    case Severity::kWarning:
      return format("\033[1;35m{}\033[0m", text);
    case Severity::kNote:
      return format("\033[1;36m{}\033[0m", text);
  }
  unreachable();
}

void print_findings(const CheckReport& report, std::ostream& out, const CheckTextOptions& options) {
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    for (const auto& [id, entry] : report.findings.by_rule()) {
      if (entry.rule->severity != severity) continue;
      std::uint64_t shown = 0;
      for (const Finding& finding : report.findings.kept()) {
        if (finding.rule != entry.rule) continue;
        ++shown;
        out << painted(severity, to_string(severity), options.style.colour) << ": " << place_of(finding)
            << finding.message << " [" << id << "]\n";
      }
      if (entry.findings > shown)
        out << format("  {} more of {}{}\n",
                      with_thousands(static_cast<std::int64_t>(entry.findings - shown)), id, options.more);
    }
  }
}

void print_points(const std::vector<PointOfAll>& points, std::string_view label, bool several,
                  std::ostream& out) {
  for (const PointOfAll& entry : points) {
    std::string line = format("  {}: {}", label, entry.point.what);
    std::string where;
    if (several)
      where = entry.files > 1 ? counted(entry.files, "trace") : printable(entry.first->path.string());
    if (entry.point.nodes > 0)
      where += format("{}{}, first node {} {}", where.empty() ? "" : ", ", counted(entry.point.nodes, "node"),
                      to_number(*entry.point.first), quote_for_message(entry.point.first_name));
    if (!where.empty()) line += format(" ({})", where);
    out << line << "\n";
  }
}

void print_verdicts(const CheckReport& report, std::ostream& out, const ReportStyle& style) {
  const std::vector<VerdictOfAll> verdicts = verdicts_of_all(report);
  if (verdicts.front().files == 0) return;
  out << "\n";
  const bool several = verdicts.front().files > 1;
  for (const VerdictOfAll& verdict : verdicts) {
    const std::string takes = several ? "takes them" : "takes it";
    const std::string refuses =
        several ? format("refuses {} of {} traces", verdict.refused, verdict.files) : "refuses it";
    out << format("{}: {} ({})\n", style.heading(verdict.simulator->name),
                  verdict.refused == 0 ? takes : refuses, verdict.simulator->title);
    print_points(verdict.refusals, "refused", several, out);
    print_points(verdict.remarks, "remark", several, out);
  }
}

}  // namespace

Json check_json(const CheckReport& report) {
  Json files = Json::array();
  for (const CheckedFile& file : report.files)
    files.push_back({{"path", file.path.string()},
                     {"rank", or_null(file.rank)},
                     {"readable", file.readable},
                     {"kind", to_string(file.kind)},
                     {"schema", to_string(file.stats.schema)},
                     {"nodes", file.stats.nodes},
                     {"dependencies", file.edges},
                     {"bytes", file.stats.bytes}});
  Json findings = Json::array();
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote})
    for (const Finding& finding : report.findings.kept())
      if (finding.rule->severity == severity)
        findings.push_back({{"severity", to_string(severity)},
                            {"rule", finding.rule->id},
                            {"file", finding.file},
                            {"rank", or_null(finding.rank)},
                            {"node", or_null(number(finding.node))},
                            {"node_name", finding.node ? Json(finding.node_name) : Json(nullptr)},
                            {"count", finding.count},
                            {"message", finding.message}});
  Json counts = Json::array();
  for (const auto& [id, entry] : report.findings.by_rule())
    counts.push_back(
        {{"rule", id}, {"severity", to_string(entry.rule->severity)}, {"findings", entry.findings}});
  Json said = Json::array();
  for (const VerdictOfAll& verdict : verdicts_of_all(report))
    said.push_back({{"name", verdict.simulator->name},
                    {"title", verdict.simulator->title},
                    {"takes", verdict.refused == 0},
                    {"files_refused", verdict.refused},
                    {"refusals", points_json(verdict.refusals)},
                    {"remarks", points_json(verdict.remarks)}});
  return {{"nadi_version", version()},
          {"files", std::move(files)},
          {"runs", report.runs},
          {"errors", report.findings.total(Severity::kError)},
          {"warnings", report.findings.total(Severity::kWarning)},
          {"notes", report.findings.total(Severity::kNote)},
          {"rules", std::move(counts)},
          {"findings", std::move(findings)},
          {"simulators", std::move(said)}};
}

void print_check(const CheckReport& report, std::ostream& out, const CheckTextOptions& options) {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  for (const CheckedFile& file : report.files) {
    nodes += file.stats.nodes;
    edges += file.edges;
  }
  out << format("{}: {}, {} dependencies", counted(report.files.size(), "trace"), counted(nodes, "node"),
                with_thousands(static_cast<std::int64_t>(edges)));
  if (report.runs > 0) out << format("; ranks of {} compared", counted(report.runs, "run"));
  out << "\n";
  print_findings(report, out, options);
  for (const CheckedFile& file : report.files)
    if (file.other_kind && options.hint_for)
      if (const std::string hint = options.hint_for(*file.other_kind); !hint.empty())
        out << format("  hint: {}: {}\n", file.path.string(), hint);
  print_verdicts(report, out, options.style);
  out << format("\n{}, {}, {}\n", counted(report.findings.total(Severity::kError), "error"),
                counted(report.findings.total(Severity::kWarning), "warning"),
                counted(report.findings.total(Severity::kNote), "note"));
}

}  // namespace nadi::inline show
