#include "nadi/report/headline_text.h"

#include <algorithm>
#include <optional>

#include "nadi/analysis/headline.h"
#include "nadi/analysis/run_analysis.h"
#include "nadi/base/format.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownLosses = 3;
constexpr double kLeastLoss = 0.0005;

ReportCell cell_of(std::optional<double> figure) {
  return figure ? ReportCell(*figure) : ReportCell();
}

std::string step_line(const Headline& headline, const std::vector<ReportFact>& facts) {
  std::string line = headline.steps == 0 ? format("the trace takes {}", to_string(headline.step_time))
                                         : format("a step takes {}", to_string(headline.step_time));
  if (headline.steps > 1)
    line += format(" (median of {}, {} to {})", with_thousands(headline.steps),
                   to_string(headline.shortest_step), to_string(headline.longest_step));
  bool first = true;
  for (const ReportFact& fact : facts) {
    if (fact.words.empty()) continue;
    line += format("{} {}", first ? ":" : ",", fact.words[0]);
    first = false;
  }
  return line;
}

std::string loss_line(const Headline& headline) {
  std::string line;
  std::size_t shown = 0;
  for (const Loss& loss : headline.losses) {
    const double share =
        static_cast<double>(loss.time.count()) / static_cast<double>(headline.device_time.count());
    if (share < kLeastLoss || shown == kShownLosses) break;
    line +=
        format("{} {} {:.1f}%", shown++ == 0 ? "largest losses:" : ",", to_string(loss.cause), 100 * share);
  }
  return line;
}

}  // namespace

std::vector<std::string> headline_lines(const RunAnalysis& run) {
  const Headline headline = headline_of(run);
  if (headline.step_time.count() <= 0) return {};
  std::vector<std::string> lines{step_line(headline, headline_facts(run))};
  if (std::string losses = loss_line(headline); !losses.empty()) lines.push_back(std::move(losses));
  return lines;
}

std::vector<ReportFact> headline_facts(const RunAnalysis& run) {
  const Headline headline = headline_of(run);
  const bool timed = headline.step_time.count() > 0, steps = headline.steps > 0;
  const auto time = [](Nanoseconds value, bool known) {
    return known ? ReportCell(value.count()) : ReportCell();
  };
  const auto count = [](std::optional<std::int64_t> value) {
    return value ? ReportCell(*value) : ReportCell();
  };
  std::vector<ReportFact> facts{
      {{"step_ns", "step time", CellKind::kTime}, time(headline.step_time, timed)},
      {{"steps", "steps"}, headline.steps},
      {{"shortest_step_ns", "shortest step", CellKind::kTime}, time(headline.shortest_step, steps)},
      {{"longest_step_ns", "longest step", CellKind::kTime}, time(headline.longest_step, steps)},
      {{"samples_per_step", "samples per step"}, count(headline.samples)},
      {{"tokens_per_step", "tokens per step"}, count(headline.tokens)},
      {{"steps_per_second", "steps/s", CellKind::kSpeed}, cell_of(headline.steps_per_second())},
      {{"samples_per_second", "samples/s", CellKind::kSpeed}, cell_of(headline.samples_per_second())},
      {{"tokens_per_second", "tokens/s", CellKind::kSpeed}, cell_of(headline.tokens_per_second())},
      {{"flops_per_second", "per rank", CellKind::kFlopRate}, cell_of(headline.flops_per_second)},
      {{"device_time_ns", "time of the devices", CellKind::kTime}, time(headline.device_time, timed)}};
  // The rates are what people see in one line.
  for (ReportFact& fact : facts)
    if (fact.name.key.ends_with("_per_second") && !std::holds_alternative<std::monostate>(fact.value))
      fact.words = {format("{} {}", cell_text(fact.value, fact.name), fact.name.title)};
  return facts;
}

}  // namespace nadi::inline show
