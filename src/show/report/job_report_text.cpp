#include "nadi/report/job_report_text.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/job_report/job_comparison.h"
#include "nadi/job_report/job_report.h"
#include "nadi/tables/report_facts.h"
#include "nadi/tables/report_table.h"
#include "nadi/terminal/full_screen.h"
#include "nadi/terminal/printable.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kFactColumn = 14;
constexpr std::size_t kShownIterations = 5;
constexpr std::size_t kShownRows = 8;
constexpr std::size_t kLongestErrorShown = 160;

std::string plural(std::int64_t count, std::string_view one, std::string_view many = "") {
  return format("{} {}", with_thousands(count),
                count == 1     ? std::string(one)
                : many.empty() ? format("{}s", one)
                               : std::string(many));
}

// A sentence of ours that may hold a text of a log.
std::string safe_sentence(const std::string& text) {
  constexpr std::size_t kLongestSentence = 2000;
  return screen_text(text, kLongestSentence);
}

std::string joined(const std::vector<std::string>& texts, std::size_t most) {
  std::string all;
  for (std::size_t i = 0; i < std::min(texts.size(), most); ++i)
    all += (i == 0 ? "" : ", ") + printable(texts[i]);
  if (texts.size() > most) all += format(" and {} more", texts.size() - most);
  return all;
}

ReportFact fact(std::string title, std::string text) {
  return {.name = {.key = "", .title = std::move(title), .kind = CellKind::kText},
          .words = {std::move(text)}};
}

std::string split_text(const JobSplit& split) {
  std::string text = split.world_size ? plural(*split.world_size, "rank") : "";
  const auto add = [&](std::string_view name, const std::optional<std::int64_t>& size) {
    if (size) text += format("{}{} {}", text.empty() ? "" : ", ", name, *size);
  };
  add("tensor", split.tensor);
  add("context", split.context);
  add("data", split.data);
  add("pipeline", split.pipeline);
  if (split.micro_batches && split.micro_batch)
    text += format(", {} of {}", plural(*split.micro_batches, "micro-batch", "micro-batches"),
                   *split.micro_batch);
  return text;
}

// "10: 4.54 s, 20: 1.40 s, 30: 1.41 s, ..."
std::string first_iterations(const JobReport& report) {
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < report.points.size() && shown < kShownIterations; ++i) {
    const auto mean = report.points[i].mean();
    if (!mean) continue;
    text += format("{}{}: {}{}", shown == 0 ? "" : ", ", report.points[i].last, to_string(*mean),
                   report.steady.warm_up[i] ? " (warm-up)" : "");
    ++shown;
  }
  if (shown > 0 && report.points.size() > shown) text += ", ...";
  return text;
}

void add_time_facts(const JobReport& report, std::vector<ReportFact>& facts) {
  const SteadyTime& steady = report.steady;
  if (steady.lines > 0)
    facts.push_back(fact(
        "steady", format("{} +- {} per iteration ({}, {} to {}; iterations {} to {}){}",
                         to_string(steady.mean), to_string(steady.deviation), plural(steady.lines, "line"),
                         to_string(steady.least), to_string(steady.most), steady.first, steady.last,
                         steady.unsure ? ": one line, it may be warm-up" : "")));
  for (std::size_t i = 0; i + 1 < steady.regimes.size(); ++i)
    facts.push_back(fact(
        i == 0 ? "before" : "then",
        format("{} per iteration (median of {}; iterations {} to {})", to_string(steady.regimes[i].median),
               plural(steady.regimes[i].lines, "line"), steady.regimes[i].first, steady.regimes[i].last)));
  if (steady.warm_up_mean)
    facts.push_back(fact("warm-up", format("{} per iteration ({})", to_string(*steady.warm_up_mean),
                                           plural(steady.warm_up_lines, "line"))));
  if (const std::string text = first_iterations(report); !text.empty())
    facts.push_back(fact("iterations", text));
  std::string speed;
  const auto add = [&](const std::optional<double>& value, std::string_view unit) {
    if (value) speed += format("{}{} {}", speed.empty() ? "" : ", ", speed_text(*value), unit);
  };
  add(report.tokens_per_second, "tokens/s");
  add(report.samples_per_second, "samples/s");
  add(report.tflops_per_rank, "TFLOP/s per GPU");
  if (!speed.empty()) facts.push_back(fact("throughput", speed));
}

std::vector<ReportFact> facts_of(const JobReport& report) {
  std::vector<ReportFact> facts;
  facts.push_back(fact("job", printable(report.id)));
  if (const std::string text = split_text(report.split); !text.empty()) facts.push_back(fact("split", text));
  std::string nodes = format("{} with files", plural(static_cast<std::int64_t>(report.nodes.size()), "node"));
  if (!report.nodes.empty() && !report.nodes.front().devices.empty())
    nodes += format(" ({})", printable(report.nodes.front().devices));
  if (!report.missing_node_ranks.empty()) {
    std::vector<std::string> missing;
    for (const std::int64_t rank : report.missing_node_ranks) missing.push_back(std::to_string(rank));
    nodes += format("; no files of node {}", joined(missing, 8));
  }
  facts.push_back(fact("nodes", nodes));
  if (!report.points.empty())
    facts.push_back(fact("progress", format("iteration {} of {}", with_thousands(report.points.back().last),
                                            with_thousands(report.points.back().iterations))));
  add_time_facts(report, facts);
  if (report.last_loss)
    facts.push_back(fact("loss", std::isfinite(*report.last_loss)
                                     ? format("{:.5g}", *report.last_loss)
                                     : format("{}: not a number", *report.last_loss)));
  std::optional<double> least_use, most_use;
  for (const ReportedNode& node : report.nodes)
    if (node.mean_utilisation) {
      least_use = std::min(least_use.value_or(1e9), *node.mean_utilisation);
      most_use = std::max(most_use.value_or(0), *node.mean_utilisation);
    }
  if (least_use)
    facts.push_back(fact("GPU use", format("{:.0f}% to {:.0f}% by node", *least_use, *most_use)));
  Bytes memory;
  for (const ReportedMemory& each : report.memory) memory = std::max(memory, each.line.most_reserved);
  if (memory.count() > 0)
    facts.push_back(fact("memory", format("{} reserved by the fullest rank", to_string(memory))));
  std::int64_t errors = 0;
  for (const ErrorGroup& group : report.errors) errors += group.count;
  facts.push_back(fact("errors", format("{} in {}, {}", with_thousands(errors),
                                        plural(static_cast<std::int64_t>(report.errors.size()), "group"),
                                        plural(report.warnings, "warning"))));
  std::int64_t asked = 0, in_effect = 0, differ = 0;
  for (const SettingRow& row : report.settings) {
    if (!row.asked) continue;
    ++asked;
    differ += row.differs ? 1 : 0;
    in_effect += !row.in_effect.empty() && !row.differs ? 1 : 0;
  }
  if (asked > 0)
    facts.push_back(
        fact("settings", format("{} asked for: {} in effect, {} not as asked for, {} printed by no node",
                                asked, in_effect, differ, asked - in_effect - differ)));
  return facts;
}

ReportTable differing_settings(const JobReport& report) {
  ReportTable table{.name = "settings",
                    .title = "Settings that contradict each other",
                    .columns = {{"name", "setting", CellKind::kText},
                                {"asked", "asked for", CellKind::kText},
                                {"printed", "printed by scripts", CellKind::kText},
                                {"effect", "by the program", CellKind::kText}}};
  for (const SettingRow& row : report.settings) {
    if (!row.differs) continue;
    std::string scripts, program;
    for (const SettingRow::Value& value : row.in_effect) {
      std::string& place = is_of_program(value) ? program : scripts;
      place += format("{}{} ({})", place.empty() ? "" : "; ", value.text, joined(value.nodes, 2));
    }
    const auto cell = [](const std::string& text) { return text.empty() ? ReportCell() : ReportCell(text); };
    table.rows.push_back({row.name, cell(row.asked.value_or("")), cell(scripts), cell(program)});
  }
  return table;
}

ReportTable error_table(const JobReport& report) {
  ReportTable table{.name = "errors",
                    .title = "Errors",
                    .columns = {{"count", "times"},
                                {"sort", "sort", CellKind::kText},
                                {"nodes", "nodes", CellKind::kText},
                                {"text", "text", CellKind::kText}}};
  for (const ErrorGroup& group : report.errors)
    table.rows.push_back({group.count, std::string(to_string(group.sort)), joined(group.nodes, 3),
                          group.text.substr(0, kLongestErrorShown)});
  return table;
}

std::string figure_text(const std::optional<double>& value, ComparedUnit unit) {
  if (!value) return "-";
  switch (unit) {
    case ComparedUnit::kTime:
      return to_string(Nanoseconds{std::llround(*value)});
    case ComparedUnit::kBytes:
      return to_string(Bytes{std::llround(*value)});
    case ComparedUnit::kPercent:
      return format("{:.1f}%", *value);
    case ComparedUnit::kCelsius:
      return format("{:.0f} C", *value);
    case ComparedUnit::kNumber:
      return std::abs(*value) >= 1000 ? with_thousands(std::llround(*value)) : format("{:.5g}", *value);
  }
  return "-";
}

void print_comparison(const JobReport& report, const JobReport& other, std::ostream& out,
                      const ReportStyle& style, const TableTextOptions& options) {
  const JobComparison comparison = compare_jobs(report, other);
  ReportTable figures{.name = "comparison",
                      .title = format("Compared with {}", printable(other.id)),
                      .columns = {{"name", "figure", CellKind::kText},
                                  {"here", "this job", CellKind::kFigure},
                                  {"other", "other", CellKind::kFigure},
                                  {"change", "change", CellKind::kChange}}};
  for (const ComparedFigure& figure : comparison.figures) {
    const auto change = figure.change();
    figures.rows.push_back({figure.name, figure_text(figure.here, figure.unit),
                            figure_text(figure.other, figure.unit),
                            change ? ReportCell(*change) : ReportCell()});
  }
  out << "\n" << style.heading(figures.title) << "\n" << table_text(figures, options);
  for (const ReportedFinding& finding : comparison.findings)
    out << format("the other, {} ({}): {}\n", finding.severity, finding.rule, printable(finding.text));
  ReportTable settings{.name = "settings",
                       .title = "Settings that differ between the two",
                       .columns = {{"name", "setting", CellKind::kText},
                                   {"here", "this job", CellKind::kText},
                                   {"other", "other", CellKind::kText}}};
  const auto cell = [](const std::optional<std::string>& text) {
    return text ? ReportCell(*text) : ReportCell();
  };
  for (const ComparedSetting& setting : comparison.settings)
    settings.rows.push_back({setting.name, cell(setting.here), cell(setting.other)});
  if (!settings.rows.empty())
    out << "\n" << style.heading(settings.title) << "\n" << table_text(settings, options);
}

void print_prediction(const JobReport& report, std::ostream& out) {
  const JobPrediction& prediction = *report.prediction;
  const auto step = prediction.step();
  if (step && report.steady.lines > 0 && step->count() > 0)
    out << format("\npredicted {} per step, measured {}: {:.3g} times as long\n", to_string(*step),
                  to_string(report.steady.mean),
                  static_cast<double>(report.steady.mean.count()) / static_cast<double>(step->count()));
  else if (step)
    out << format("\npredicted {} per step; nothing measured\n", to_string(*step));
  for (const std::string& difference : plan_differences(report))
    out << "  the job does not follow the plan: " << difference << "\n";
  if (!prediction.problem.empty())
    out << "  the plan was not simulated: " << safe_sentence(prediction.problem) << "\n";
}

}  // namespace

void print_job_report(const JobReport& report, std::ostream& out, const JobReportTextOptions& options) {
  const TableTextOptions table{.rows = kShownRows,
                               .bold_titles = options.style.colour,
                               .width = options.style.table_width,
                               .more = ": the page and --json have all"};
  out << options.style.heading(printable(report.title)) << "\n\n"
      << facts_text(facts_of(report), kFactColumn, options.style.width);
  if (report.scheduler)
    for (const auto& [name, value] : report.scheduler->facts)
      if (name == "state" || name == "restarts" || name == "reason")
        out << facts_text(std::vector{fact(name, printable(value))}, kFactColumn, options.style.width);
  if (report.prediction) print_prediction(report, out);
  if (report.rules_asked) {
    out << (report.findings.empty() ? "\nhealth: no rule found anything\n" : "\n");
    for (const ReportedFinding& finding : report.findings)
      out << format("{}: {}: {}\n", finding.severity, finding.rule, safe_sentence(finding.text));
  }
  if (options.compared_with != nullptr)
    print_comparison(report, *options.compared_with, out, options.style, table);
  if (const ReportTable settings = differing_settings(report); !settings.rows.empty())
    out << "\n" << options.style.heading(settings.title) << "\n" << table_text(settings, table);
  if (!report.errors.empty())
    out << "\n" << options.style.heading("Errors") << "\n" << table_text(error_table(report), table);
  if (!report.notes.empty()) out << "\n";
  for (const std::string& note : report.notes) out << "note: " << safe_sentence(note) << "\n";
}

}  // namespace nadi::inline show
