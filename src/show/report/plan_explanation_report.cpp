#include "nadi/report/plan_explanation_report.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/rates.h"
#include "nadi/prediction/planning_figures.h"
#include "nadi/report/plan_texts.h"
#include "nadi/tables/report_facts.h"
#include "nadi/tables/report_table.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kWordsColumn = 15;
constexpr std::size_t kShownStages = 32;

double ratio(Nanoseconds part, Nanoseconds whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

double filled(const ExplainedStage& stage) {
  return stage.capacity.count() > 0
             ? static_cast<double>(stage.memory.count()) / static_cast<double>(stage.capacity.count())
             : 0;
}

std::string percent(double share) {
  return format("{:.1f}%", share * 100);
}

ReportTable stages_table(const PlanExplanation& why) {
  ReportTable table{.name = "stages",
                    .title = "Stages",
                    .columns = {{"", "stage", CellKind::kCount},
                                {"", "ranks", CellKind::kFigure, Shown::kIfRoom},
                                {"", "device", CellKind::kText},
                                {"", "layers", CellKind::kCount},
                                {"", "forward", CellKind::kTime, Shown::kIfRoom},
                                {"", "backward", CellKind::kTime, Shown::kIfRoom},
                                {"", "computes", CellKind::kTime},
                                {"", "optimizer", CellKind::kTime, Shown::kIfRoom},
                                {"", "waits", CellKind::kTime},
                                {"", "idle", CellKind::kTime},
                                {"", "idle", CellKind::kShare},
                                {"", "memory", CellKind::kBytes},
                                {"", "full", CellKind::kShare}}};
  for (std::size_t s = 0; s < why.stages.size(); ++s) {
    const ExplainedStage& stage = why.stages[s];
    const StageEstimate* const estimate =
        s < why.plan.estimate.stages.size() ? &why.plan.estimate.stages[s] : nullptr;
    table.rows.push_back(
        {static_cast<std::int64_t>(s),
         stage.first_rank == stage.last_rank ? format("{}", stage.first_rank)
                                             : format("{}-{}", stage.first_rank, stage.last_rank),
         stage.device, stage.layers,
         estimate != nullptr ? ReportCell(estimate->forward.count()) : ReportCell(),
         estimate != nullptr ? ReportCell(estimate->backward.count()) : ReportCell(), stage.computed.count(),
         stage.optimizer.count(), stage.exposed.count(), stage.bubble.count(),
         ratio(stage.bubble, why.simulated), stage.memory.count(), filled(stage)});
  }
  return table;
}

ReportTable alternatives_table(const PlanExplanation& why) {
  ReportTable table{.name = "alternatives",
                    .title = "Alternatives",
                    .columns = {{"", "knob", CellKind::kText},
                                {"", "instead", CellKind::kText},
                                {"", "step", CellKind::kTime, Shown::kAlways, "does not fit"},
                                {"", "change", CellKind::kChange},
                                {"", "$/step", CellKind::kChange, Shown::kIfRoom},
                                {"", "memory", CellKind::kBytes},
                                {"", "lacks", CellKind::kBytes}}};
  for (const PlanAlternative& other : why.alternatives) {
    if (!other.plan) {
      table.rows.push_back({other.knob, other.choice, ReportCell(), ReportCell(), ReportCell(), ReportCell(),
                            other.missing_memory ? ReportCell(other.missing_memory->count()) : ReportCell()});
      continue;
    }
    const RankedPlan& plan = *other.plan;
    const Nanoseconds time = plan.simulated.value_or(plan.estimate.iteration);
    Bytes memory;
    for (const StageEstimate& stage : plan.estimate.stages) memory = std::max(memory, stage.memory);
    ReportCell dollars;
    if (plan.estimate.dollars_per_step && why.plan.estimate.dollars_per_step)
      dollars = *plan.estimate.dollars_per_step / *why.plan.estimate.dollars_per_step - 1;
    table.rows.push_back({other.knob, other.choice, time.count(), ratio(time, why.simulated) - 1, dollars,
                          memory.count(), ReportCell()});
  }
  return table;
}

std::vector<std::string> slowest_words(const PlanExplanation& why) {
  const ExplainedStage& stage = why.stages[why.slowest];
  const auto least =
      std::ranges::min_element(why.stages, {}, [](const ExplainedStage& each) { return each.computed; });
  std::vector<std::string> words{format("stage {} ({}, {} layers)", why.slowest, stage.device, stage.layers),
                                 "computes longest:",
                                 format("{}, {} of the step;", to_string(stage.computed),
                                        percent(ratio(stage.computed, why.simulated)))};
  if (why.stages.size() > 1)
    words.push_back(format("stage {} shortest: {};", least - why.stages.begin(), to_string(least->computed)));
  words.push_back(format("stage {} is idle for {} of the step", why.slowest,
                         percent(ratio(stage.bubble, why.simulated))));
  return words;
}

std::vector<std::string> memory_words_of(const PlanExplanation& why) {
  const ExplainedStage& stage = why.stages[why.fullest];
  return {format("stage {} ({})", why.fullest, stage.device), "is fullest:",
          format("{} of {}, {}", to_string(stage.memory), to_string(stage.capacity), percent(filled(stage)))};
}

std::vector<std::string> network_words(const PlanExplanation& why) {
  const auto most =
      std::ranges::max_element(why.stages, {}, [](const ExplainedStage& each) { return each.exposed; });
  if (most->exposed.count() == 0) return {"no computation waits for communication"};
  std::vector<std::string> words{
      format("stage {} waits longest:", most - why.stages.begin()),
      format("{}, {} of the step;", to_string(most->exposed), percent(ratio(most->exposed, why.simulated)))};
  words.push_back(format("most of it for {}: {}", most->longest_wait, to_string(most->longest_wait_time)));
  return words;
}

// What would have to become faster first.
std::string_view limit_of(const PlanExplanation& why) {
  const ExplainedStage& stage = why.stages[why.slowest];
  if (stage.computed >= stage.exposed && stage.computed >= stage.bubble) return "computation";
  return stage.exposed >= stage.bubble ? "communication" : "pipeline bubble";
}

std::string second_words(const PlanExplanation& why) {
  const auto best = std::ranges::find_if(why.alternatives,
                                         [](const PlanAlternative& other) { return other.plan.has_value(); });
  if (best == why.alternatives.end()) return "no knob can be turned: every other choice does not fit";
  const Nanoseconds time = best->plan->simulated.value_or(best->plan->estimate.iteration);
  const double change = ratio(time, why.simulated) - 1;
  return format("{} {}: {} per step, {:.1f}% {}", best->knob, best->choice, to_string(time),
                std::abs(change) * 100, change >= 0 ? "slower" : "faster");
}

}  // namespace

Json explanation_json(const PlanExplanation& why, const PlanQuestion& question, const SimulatedWork& work,
                      std::int64_t place) {
  Json stages = Json::array(), alternatives = Json::array();
  for (const ExplainedStage& stage : why.stages)
    stages.push_back({{"first_rank", stage.first_rank},
                      {"last_rank", stage.last_rank},
                      {"device", stage.device},
                      {"layers", stage.layers},
                      {"compute_ns", stage.computed.count()},
                      {"optimizer_ns", stage.optimizer.count()},
                      {"exposed_ns", stage.exposed.count()},
                      {"bubble_ns", stage.bubble.count()},
                      {"longest_wait", stage.longest_wait},
                      {"longest_wait_ns", stage.longest_wait_time.count()},
                      {"memory_bytes", stage.memory.count()},
                      {"capacity_bytes", stage.capacity.count()}});
  for (const PlanAlternative& other : why.alternatives) {
    Json entry{{"knob", other.knob}, {"choice", other.choice}, {"fits", other.plan.has_value()}};
    entry["missing_bytes"] = other.missing_memory ? Json(other.missing_memory->count()) : Json(nullptr);
    const bool fits = other.plan.has_value();
    const PlanFigures figures = fits ? plan_figures(question, work, *other.plan) : PlanFigures{};
    entry["step_s"] = fits ? Json(to_seconds(figures.time)) : Json(nullptr);
    entry["dollars_per_step"] =
        fits && figures.dollars_per_step ? Json(*figures.dollars_per_step) : Json(nullptr);
    entry["memory_bytes"] = fits ? Json(figures.memory.count()) : Json(nullptr);
    entry["flags"] = fits ? Json(plan_flags_text(question, other.plan->candidate)) : Json(nullptr);
    alternatives.push_back(std::move(entry));
  }
  return {{"place", place},
          {"simulated_s", to_seconds(why.simulated)},
          {"limit", limit_of(why)},
          {"slowest_stage", why.slowest},
          {"fullest_stage", why.fullest},
          {"stages", std::move(stages)},
          {"alternatives", std::move(alternatives)}};
}

void print_explanation(const PlanExplanation& why, const PlanQuestion& question, std::int64_t place,
                       std::ostream& out, const ReportStyle& style) {
  out << "\n" << style.heading(format("Why plan {}", place)) << "\n";
  out << labelled("flags", kWordsColumn, words_of(plan_flags_text(question, why.plan.candidate)),
                  style.width);
  out << labelled("step", kWordsColumn,
                  {format("{} simulated,", to_string(why.simulated)),
                   format("{} estimated;", to_string(why.plan.estimate.iteration)),
                   format("most of it is {}", limit_of(why))},
                  style.width);
  out << labelled("slowest stage", kWordsColumn, slowest_words(why), style.width);
  out << labelled("memory", kWordsColumn, memory_words_of(why), style.width);
  out << labelled("network", kWordsColumn, network_words(why), style.width);
  out << labelled("next best", kWordsColumn, words_of(second_words(why)), style.width);
  const TableTextOptions options{
      .rows = kShownStages, .bold_titles = style.colour, .width = style.table_width, .more = "in --json"};
  out << "\n"
      << style.heading("Stages")
      << "  forward and backward of a micro-batch by estimate, the rest of a step "
         "by simulation\n"
      << table_text(stages_table(why), options);
  if (why.alternatives.empty()) return;
  out << "\n"
      << style.heading("Other choices") << "  one knob changed, partition and placement chosen anew\n"
      << table_text(alternatives_table(why), options);
}

}  // namespace nadi::inline show
