#include "nadi/report/step_tables.h"

#include <utility>

namespace nadi::inline show {
namespace {

ReportColumn flops_column(std::string key, std::string title, Shown shown = Shown::kAlways) {
  return {std::move(key), std::move(title), CellKind::kFlops, shown, "-", Zero::kAsAbsent};
}
ReportColumn bytes_column(std::string key, std::string title) {
  return {std::move(key), std::move(title), CellKind::kBytes, Shown::kAlways, "-", Zero::kAsAbsent};
}

// The columns of work behind `columns`, which name what it is the work of.
std::vector<ReportColumn> with_work(std::vector<ReportColumn> columns) {
  columns.push_back({"ops", "ops"});
  columns.push_back(flops_column("linear_flops", "linear"));
  columns.push_back(flops_column("linear_without_head_flops", "", Shown::kToPrograms));
  columns.push_back(flops_column("attention_flops", "attention"));
  columns.push_back(flops_column("other_flops", "other"));
  columns.push_back(flops_column("flops", "all FLOPs"));
  columns.push_back(bytes_column("read_bytes", "read"));
  columns.push_back(bytes_column("written_bytes", "written"));
  return columns;
}

// The cells of these columns behind `cells`.
std::vector<ReportCell> with_work(std::vector<ReportCell> cells, const WorkSummary& work) {
  cells.emplace_back(work.ops);
  cells.emplace_back(work.linear.count());
  cells.emplace_back(work.linear_without_head().count());
  cells.emplace_back(work.attention.count());
  cells.emplace_back(work.cost.vector.count());
  cells.emplace_back(work.cost.flops().count());
  cells.emplace_back(work.cost.read.count());
  cells.emplace_back(work.cost.written.count());
  return cells;
}

ReportCell word_cell(std::string_view word) {
  return std::string(word);
}

}  // namespace

ReportTable work_table(const WorkSummary& work) {
  return {.name = "total", .title = "Step", .columns = with_work({}), .rows = {with_work({}, work)}};
}

ReportTable phase_table(const std::array<WorkSummary, kPhaseCount>& phases) {
  ReportTable table{
      .name = "phases", .title = "Phases", .columns = with_work({{"phase", "phase", CellKind::kText}})};
  for (std::size_t i = 0; i < phases.size(); ++i)
    if (phases[i].ops > 0)
      table.rows.push_back(with_work({word_cell(to_string(static_cast<Phase>(i)))}, phases[i]));
  return table;
}

ReportTable phase_table(const ProgramSummary& summary) {
  ReportTable table = phase_table(summary.phases);
  table.columns.push_back(bytes_column("peak_live_bytes", "live at peak"));
  std::size_t row = 0;
  for (std::size_t i = 0; i < summary.phases.size(); ++i)
    if (summary.phases[i].ops > 0) table.rows[row++].emplace_back(summary.memory.live_by_phase[i].count());
  table.total = with_work({word_cell("step")}, summary.total());
  table.total.emplace_back(summary.memory.activations_live.count());
  return table;
}

ReportTable layer_table(const ProgramSummary& summary) {
  ReportTable table{
      .name = "layers",
      .title = "Layers",
      .columns =
          with_work({{"name", "layer", CellKind::kText}, {"block", "block"}, {"parameters", "parameters"}})};
  for (const LayerSummary& layer : summary.layers)
    table.rows.push_back(
        with_work({layer.name, layer.block >= 0 ? ReportCell(std::int64_t{layer.block}) : ReportCell(),
                   layer.parameters},
                  layer.total()));
  return table;
}

ReportTable op_kind_table(const ProgramSummary& summary) {
  ReportTable table{
      .name = "op_kinds", .title = "Kinds of ops", .columns = with_work({{"kind", "kind", CellKind::kText}})};
  for (const auto& [kind, work] : summary.op_kinds)
    table.rows.push_back(with_work({word_cell(to_string(kind))}, work));
  return table;
}

ReportTable communication_table(const ProgramSummary& summary) {
  ReportTable table{
      .name = "communication",
      .title = "Communication",
      .columns = {{"group", "group", CellKind::kText}, {"ops", "ops"}, bytes_column("sent_bytes", "sent")}};
  for (const auto& [group, communication] : summary.communication)
    table.rows.push_back({group, communication.ops, communication.sent.count()});
  return table;
}

std::array<MemoryShare, 8> memory_parts(const MemorySummary& memory) {
  return {{{"parameters_bytes", "parameters", memory.of(Role::kParameter)},
           {"gradients_bytes", "gradients", memory.of(Role::kGradient)},
           {"optimizer_state_bytes", "optimizer state", memory.of(Role::kOptimizerState)},
           {"activations_bytes", "activations", memory.activations},
           {"caches_bytes", "caches", memory.of(Role::kCache)},
           {"inputs_bytes", "inputs", memory.of(Role::kInput)},
           {"constants_bytes", "constants", memory.of(Role::kConstant)},
           {"metrics_bytes", "metrics", memory.of(Role::kMetric) + memory.of(Role::kCounter)}}};
}

std::array<MemoryShare, 6> memory_parts(const EngineMemory& memory) {
  return {{{"variables_bytes", "variables", memory.variables},
           {"padding_bytes", "padding", memory.padding},
           {"inputs_bytes", "inputs and constants", memory.inputs},
           {"values_bytes", "activations", memory.values},
           {"workspace_bytes", "workspace", memory.workspace},
           {"staging_bytes", "messages", memory.staging}}};
}

}  // namespace nadi::inline show
