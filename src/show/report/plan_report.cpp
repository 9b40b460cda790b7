#include "nadi/report/plan_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/rates.h"
#include "nadi/base/version.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/prediction/planning_figures.h"
#include "nadi/report/assumptions_report.h"
#include "nadi/report/plan_explanation_report.h"
#include "nadi/report/plan_texts.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kSearchColumn = 8;
constexpr std::size_t kAssumedColumn = 12;

std::string_view name_of_objective(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::kTime:
      return "time";
    case PlanObjective::kCost:
      return "cost";
    case PlanObjective::kMemory:
      return "memory";
  }
  unreachable();
}

std::string_view best_words(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::kTime:
      return "Best plans, fastest first";
    case PlanObjective::kCost:
      return "Best plans, cheapest first";
    case PlanObjective::kMemory:
      return "Best plans, least memory first";
  }
  unreachable();
}

// So many digits that a figure of a thousandth of a cent is no zero.
std::string dollars_figure(double amount) {
  return amount >= 100 ? with_thousands(static_cast<std::int64_t>(amount + 0.5)) : format("{:.3g}", amount);
}

// Long partitions with what repeats written once: "12x3-11" are 12, 12, 12 and 11 layers.
std::string partition_for_people(const std::vector<std::int64_t>& partition) {
  constexpr std::size_t kWrittenOut = 8;
  if (partition.size() <= kWrittenOut) return partition_text(partition);
  std::string text;
  for (std::size_t at = 0; at < partition.size();) {
    std::size_t end = at;
    while (end < partition.size() && partition[end] == partition[at]) ++end;
    text += format("{}{}", text.empty() ? "" : "-", partition[at]);
    if (end - at > 1) text += format("x{}", end - at);
    at = end;
  }
  return text;
}

ReportCell optional_number(const std::optional<double>& number) {
  return number ? ReportCell(*number) : ReportCell();
}

std::string search_words(const PlanView& view) {
  const PlanAnswer& answer = view.answer.found;
  const bool of_fleet = view.answer.asked.fleet.has_value();
  const std::optional<double>& front_gap = view.answer.front_gap;
  std::string text = format("{} plan{} evaluated", with_thousands(answer.evaluated),
                            answer.evaluated == 1 ? " was" : "s were");
  if (of_fleet) text += format(" on {} mixes of nodes", with_thousands(view.answer.subclusters));
  if (answer.out_of_memory > 0)
    text += format("; {} setting{} not fit in memory", with_thousands(answer.out_of_memory),
                   answer.out_of_memory == 1 ? " does" : "s do");
  text +=
      format("; {} simulated.", answer.simulated == 1 ? "1 was" : with_thousands(answer.simulated) + " were");
  if (answer.stopped) text += " The search was interrupted.";
  if (of_fleet) {
    if (front_gap)
      text += " Proven for each mix of the front: by estimate, no plan on all of its nodes is faster" +
              (*front_gap <= 0 ? std::string(".") : format(" by more than {:.2g}%.", *front_gap * 100));
    else
      text += " Not every mix of the front was searched for a proof.";
    return text;
  }
  text += format(" Proven: by estimate, no plan of the space{} is better than the best of these",
                 view.answer.asked.question.config.experts > 0 ? ", which has no expert parallelism," : "");
  text += answer.gap <= 0 ? std::string(".") : format(" by more than {:.2g}%.", answer.gap * 100);
  return text;
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

Json optional_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json seconds_json(const std::optional<Nanoseconds>& time) {
  return time ? Json(to_seconds(*time)) : Json(nullptr);
}

Json stages_json(const PlanQuestion& question, const PlanEstimate& estimate) {
  Json stages = Json::array();
  for (const StageEstimate& stage : estimate.stages)
    stages.push_back({{"layers", stage.layers},
                      {"device", question.cluster.devices[static_cast<std::size_t>(stage.device)].name},
                      {"forward_ns", stage.forward.count()},
                      {"backward_ns", stage.backward.count()},
                      {"send_ns", stage.send.count()},
                      {"reduction_ns", stage.reduction.count()},
                      {"update_ns", stage.update.count()},
                      {"memory_bytes", stage.memory.count()},
                      {"capacity_bytes", stage.capacity.count()}});
  return stages;
}

Json explanations_json(const PlanView& view) {
  if (view.explanation == nullptr) return Json::array();
  Json why =
      explanation_json(*view.explanation, view.answer.asked.question, view.answer.asked.work, view.explained);
  why["megatron"] = {{"partition", view.megatron.partition},
                     {"layout", view.megatron.layout},
                     {"command", view.megatron.command},
                     {"notes", join_lines(view.megatron.notes)},
                     {"problems", join_lines(view.megatron.problems)}};
  return Json::array({std::move(why)});
}

void print_megatron(const MegatronText& megatron, std::ostream& out, const ReportStyle& style) {
  out << "\n" << style.heading("Megatron-LM") << "\n";
  out << labelled("partition", kSearchColumn + 4,
                  {megatron.partition + ",", "with embedding and head as layers"}, style.width);
  out << labelled("layout", kSearchColumn + 4, {megatron.layout}, style.width);
  for (const std::string& text : megatron.problems)
    out << labelled("problem", kSearchColumn + 4, words_of(text), style.width);
  for (const std::string& text : megatron.notes)
    out << labelled("note", kSearchColumn + 4, words_of(text), style.width);
  out << "\n" << megatron.command << "\n";
}

Json plans_json(const PlanView& view, std::span<const RankedPlan> plans) {
  Json list = Json::array();
  for (const RankedPlan& plan : plans)
    list.push_back(ranked_plan_json(view.answer.asked.question, view.answer.asked.work, plan,
                                    std::int64_t(list.size()) + 1));
  return list;
}

}  // namespace

std::string question_text(const ResolvedPlanning& asked) {
  const PlanQuestion& question = asked.question;
  const std::string& layer_times = asked.assumed.layer_times;
  std::string text = format("global batch {} x {} tokens, {}", with_thousands(question.global_batch_size),
                            with_thousands(question.request.seq_length), name_of(question.request.dtype));
  if (question.overlap.gradient_dtype)
    text += format(" with gradients reduced in {}", name_of(*question.overlap.gradient_dtype));
  text += question.request.fused_attention ? ", fused attention" : ", unfused attention";
  if (!layer_times.empty()) text += format(", layer times of {}", layer_times);
  return text;
}

ReportTable plans_table(const PlanQuestion& question, const SimulatedWork& work,
                        std::span<const RankedPlan> plans) {
  ReportTable table{.name = "plans",
                    .title = "Plans",
                    .columns = {{"", "", CellKind::kCount},
                                {"", "tp", CellKind::kCount},
                                {"", "dp", CellKind::kCount},
                                {"", "pp", CellKind::kCount},
                                {"", "mbs", CellKind::kCount},
                                {"", "sp", CellKind::kText},
                                {"", "recompute", CellKind::kText},
                                {"", "ZeRO", CellKind::kCount},
                                {"", "schedule", CellKind::kText},
                                {"", "partition", CellKind::kText},
                                {"", "placement", CellKind::kText},
                                {"", "step", CellKind::kTime},
                                {"", "estimate", CellKind::kTime, Shown::kIfRoom},
                                {"", "memory", CellKind::kBytes},
                                {"", "of", CellKind::kBytes, Shown::kIfRoom},
                                {"", "$/step", CellKind::kFigure},
                                {"", "MFU", CellKind::kShare, Shown::kIfRoom},
                                {"", "samples/s", CellKind::kSpeed, Shown::kIfRoom}}};
  for (const RankedPlan& ranked : plans) {
    const PlanCandidate& candidate = ranked.candidate;
    const Plan& plan = candidate.plan;
    const PlanFigures figures = plan_figures(question, work, ranked);
    table.rows.push_back(
        {std::int64_t(table.rows.size()) + 1, plan.tp, plan.dp, plan.pp, candidate.micro_batch_size,
         plan.sequence_parallel ? ReportCell(std::string("on")) : ReportCell(),
         std::string(to_string(candidate.recompute.granularity)), plan.zero_stage,
         plan.pp > 1 && plan.schedule != ScheduleKind::k1F1B ? ReportCell(schedule_text(plan)) : ReportCell(),
         plan.pp > 1 ? ReportCell(partition_for_people(plan.partition)) : ReportCell(),
         short_nodes_text(question.cluster, candidate.nodes), figures.time.count(),
         ranked.estimate.iteration.count(), figures.memory.count(), figures.capacity.count(),
         figures.dollars_per_step ? ReportCell(dollars_figure(*figures.dollars_per_step)) : ReportCell(),
         optional_number(figures.model_flops_utilization), figures.samples_per_second});
  }
  return table;
}

Json ranked_plan_json(const PlanQuestion& question, const SimulatedWork& work, const RankedPlan& ranked,
                      std::int64_t place) {
  const PlanCandidate& candidate = ranked.candidate;
  const Plan& plan = candidate.plan;
  const PlanFigures figures = plan_figures(question, work, ranked);
  Json nodes = Json::array();
  for (const NodeRun& run : candidate.nodes)
    nodes.push_back({{"kind", question.cluster.kinds[static_cast<std::size_t>(run.kind)].name},
                     {"count", run.count},
                     {"devices", run.devices}});
  return {{"place", place},
          {"tp", plan.tp},
          {"dp", plan.dp},
          {"pp", plan.pp},
          {"micro_batch_size", candidate.micro_batch_size},
          {"micro_batches", plan.micro_batches},
          {"recompute", to_string(candidate.recompute.granularity)},
          {"zero", plan.zero_stage},
          {"sequence_parallel", plan.sequence_parallel},
          {"schedule", to_string(plan.schedule)},
          {"virtual_stages", plan.virtual_stages},
          {"partition", plan.partition},
          {"nodes", std::move(nodes)},
          {"estimated_s", to_seconds(ranked.estimate.iteration)},
          {"simulated_s", seconds_json(ranked.simulated)},
          {"samples_per_second", figures.samples_per_second},
          {"tokens_per_second", figures.tokens_per_second},
          {"model_flops_utilization", optional_json(figures.model_flops_utilization)},
          {"dollars_per_hour", optional_json(figures.dollars_per_hour)},
          {"dollars_per_step", optional_json(figures.dollars_per_step)},
          {"dollars_per_million_tokens", optional_json(figures.dollars_per_million_tokens)},
          {"memory_bytes", figures.memory.count()},
          {"capacity_bytes", figures.capacity.count()},
          {"stages", stages_json(question, ranked.estimate)},
          {"flags", plan_flags_text(question, candidate)}};
}

Json plan_report_json(const PlanView& view) {
  const PlanQuestion& question = view.answer.asked.question;
  const PlanAnswer& answer = view.answer.found;
  const PlanLimits& limits = question.limits;
  const std::string& layer_times = view.answer.asked.assumed.layer_times;
  const bool of_fleet = view.answer.asked.fleet.has_value();
  return {{"nadi_version", version()},
          {"model", question.config.name},
          {"cluster", question.cluster.name},
          {"objective", name_of_objective(question.objective)},
          {"global_batch_size", question.global_batch_size},
          {"seq_length", question.request.seq_length},
          {"dtype", name_of(question.request.dtype)},
          {"gradient_dtype",
           question.overlap.gradient_dtype ? Json(name_of(*question.overlap.gradient_dtype)) : Json(nullptr)},
          {"layer_times", layer_times.empty() ? Json(nullptr) : Json(layer_times)},
          {"assumed", assumptions_json(view.answer.asked.assumed)},
          {"limits",
           {{"dollars_per_million_tokens", optional_json(limits.dollars_per_million_tokens)},
            {"step_time_s", seconds_json(limits.step_time)},
            {"memory_share", limits.memory_share}}},
          {"search",
           {{"evaluated", answer.evaluated},
            {"out_of_memory", answer.out_of_memory},
            {"simulated", answer.simulated},
            {"subclusters", of_fleet ? view.answer.subclusters : 1},
            {"lower_bound", of_fleet ? Json(nullptr) : Json(answer.lower_bound)},
            {"gap", of_fleet ? optional_json(view.answer.front_gap) : Json(answer.gap)},
            {"interrupted", answer.stopped}}},
          {"plans", plans_json(view, answer.plans)},
          {"front", plans_json(view, view.answer.front)},
          {"explanations", explanations_json(view)}};
}

void print_plans(const PlanView& view, std::ostream& out, const ReportStyle& style) {
  const ResolvedPlanning& asked = view.answer.asked;
  const PlanQuestion& question = asked.question;
  out << style.heading(format("{} on {}", question.config.name, question.cluster.name)) << "  "
      << question_text(asked) << "\n"
      << facts_text(assumption_facts(asked.assumed), kAssumedColumn, style.width);
  const auto print = [&](std::string_view title, std::span<const RankedPlan> plans) {
    out << "\n"
        << style.heading(title) << "\n"
        << table_text(plans_table(question, asked.work, plans),
                      {.rows = 0, .bold_titles = style.colour, .width = style.table_width});
  };
  print(best_words(question.objective), view.answer.found.plans);
  if (!view.answer.front.empty())
    print("Pareto front: no plan is both faster and cheaper", view.answer.front);
  if (view.explanation != nullptr) {
    print_explanation(*view.explanation, question, view.explained, out, style);
    print_megatron(view.megatron, out, style);
  }
  out << "\n" << labelled("search", kSearchColumn, words_of(search_words(view)), style.width);
}

std::string nearest_miss_text(const PlanQuestion& question, const PlanAnswer& answer) {
  if (!answer.nearest) return "";
  const NearestMiss& miss = *answer.nearest;
  const PlanCandidate& candidate = miss.plan.candidate;
  std::vector<std::string> parts;
  if (miss.missing_memory.count() > 0)
    parts.push_back(format("{} more memory on its fullest device", to_string(miss.missing_memory)));
  if (miss.missing_dollars_per_million_tokens)
    parts.push_back(
        format("{} $ more per million tokens", dollars_figure(*miss.missing_dollars_per_million_tokens)));
  if (miss.missing_time) parts.push_back(format("{} more per step", to_string(*miss.missing_time)));
  std::string needs;
  for (std::size_t i = 0; i < parts.size(); ++i)
    needs += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return format("the nearest plan ({} on {}) needs {}", plan_flags_text(question, candidate),
                nodes_text(question.cluster, candidate.nodes), needs);
}

}  // namespace nadi::inline show
