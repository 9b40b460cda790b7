#include "nadi/report/job_result_text.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/job_log/job_log.h"
#include "nadi/tables/text_table.h"
#include "nadi/terminal/full_screen.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownLines = 3;

void print_heading(std::string_view text, std::ostream& out, const ReportStyle& style) {
  constexpr std::string_view kStars = "*******************";
  out << style.heading(format("{} {} {}", kStars, text, kStars)) << "\n";
}

// The newest sample: a line for each GPU, or that of the processors.
std::size_t lines_of_sample(const NodeLog& node) {
  const auto gpus = std::ranges::count(node.devices, DeviceLog::Kind::kGpu, &DeviceLog::kind);
  return std::max<std::size_t>(static_cast<std::size_t>(gpus), 1);
}

void print_tails(const WatchedState& state, LogFile NodeLog::*file, std::string_view heading,
                 std::ostream& out, const ReportStyle& style) {
  print_heading(heading, out, style);
  std::int64_t lines = 0;
  for (const NodeLog& node : state.log.nodes) {
    const LogFile& log = node.*file;
    if (log.path.empty()) continue;
    lines += log.lines;
    out << format("==> {} <==\n", log.path.string());
    if (!log.problem.empty()) out << log.problem << "\n";
    const std::size_t wanted = file == &NodeLog::gpu ? lines_of_sample(node) : kShownLines;
    for (std::size_t i = log.tail.size() - std::min(wanted, log.tail.size()); i < log.tail.size(); ++i)
      out << screen_text(log.tail[i], kLongestTailLine) << "\n";
    out << "\n";
  }
  out << format("{} lines..\n", lines);
}

// One value, or each with the nodes that have it.
std::string values_text(const SettingRow& row) {
  std::vector<std::pair<std::string, std::string>> values;  // text, nodes
  for (const SettingRow::Value& value : row.in_effect) {
    const auto known = std::ranges::find(values, value.text, &std::pair<std::string, std::string>::first);
    if (known == values.end())
      values.emplace_back(value.text, value.nodes.empty() ? "" : value.nodes.front());
  }
  if (values.size() == 1) return values[0].first;
  std::string text;
  for (const auto& [value, node] : values) text += format("{}{} ({})", text.empty() ? "" : ", ", value, node);
  return text;
}

bool is_variable(std::string_view name) {
  return !name.empty() && std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
}

void print_settings(const WatchedState& state, const std::vector<AskedSetting>& asked, std::ostream& out) {
  std::string items;
  for (const NodeLog& node : state.log.nodes)
    for (const LogFile* file : {&node.err, &node.gpu, &node.out})
      if (!file->path.empty()) items += " " + file->path.filename().string();
  out << "items:" << items << "\n";
  // Names of the script's variables; Megatron's long list of arguments is in the files.
  for (const SettingRow& row : compare_settings(state.log, asked)) {
    if (row.in_effect.empty() || (!row.asked && !is_variable(row.name))) continue;
    out << format(
        "{}: {}{}\n", row.name, screen_text(values_text(row), kLongestTailLine),
        row.differs && row.asked ? format("    <-- {} was asked for in {}", *row.asked, row.where) : "");
  }
}

void print_iterations(const WatchedState& state, std::ostream& out) {
  std::int64_t without = 0;
  for (const IterationPoint& point : iterations_of(state.log)) {
    if (const auto mean = point.mean())
      out << format("iteration {} : {:.4f} s\n", point.last, static_cast<double>(mean->count()) * 1e-9);
    else
      ++without;
  }
  if (without > 0) out << format("{} lines of iterations have no time\n", without);
}

}  // namespace

void print_four_rules(const std::vector<JobVerdict>& verdicts, std::ostream& out, const ReportStyle& style) {
  for (const JobVerdict& verdict : verdicts) {
    out << format("rule {} {:<9}  {:<7}  {}\n", verdict.number, verdict.rule, to_string(verdict.answer),
                  screen_text(verdict.text, style.width * 4));
    for (const HealthEvidence& evidence : verdict.evidence)
      out << format("    {}{}\n", evidence.place.empty() ? "" : evidence.place + ": ",
                    screen_text(evidence.text, style.width * 4));
  }
}

void print_job_result(const WatchedState& state, const std::vector<AskedSetting>& asked, std::ostream& out,
                      const ReportStyle& style) {
  print_tails(state, &NodeLog::out, "last output message", out, style);
  print_tails(state, &NodeLog::err, "last error message", out, style);
  print_tails(state, &NodeLog::gpu, "last gpu message", out, style);
  print_heading("job info " + state.title, out, style);
  print_settings(state, asked, out);
  print_heading("iteration time", out, style);
  print_iterations(state, out);
  print_heading("state", out, style);
  out << watch_line(state) << "\n";
  print_four_rules(state.verdicts, out, style);
}

}  // namespace nadi::inline show
