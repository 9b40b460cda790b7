#include "nadi/report/prediction_report.h"

#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/prediction/comparison_question.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show {
namespace {

ReportTable compared_kinds_table(const ComparisonResult& result) {
  ReportTable table{.name = "kinds",
                    .title = "Ops",
                    .note = "per step of a rank; error: of the sum; median: of single ops, without signs",
                    .columns = {{"kind", "op", CellKind::kText},
                                {"communicates", "", CellKind::kYesNo, Shown::kToPrograms},
                                {"count", "count"},
                                {"measured_ns", "measured", CellKind::kTime},
                                {"predicted_ns", "predicted", CellKind::kTime},
                                {"error", "error", CellKind::kChange},
                                {"median_error", "median", CellKind::kShare}}};
  for (const ComparedKind& kind : result.kinds)
    table.rows.push_back({kind.kind, kind.communicates, kind.count, kind.measured.count(),
                          kind.predicted.count(), kind.error(), kind.median_error});
  return table;
}

ReportTable offenders_table(const ComparisonResult& result) {
  ReportTable table{.name = "offenders",
                    .title = "Largest differences",
                    .columns = {{"name", "node", CellKind::kText},
                                {"kind", "op", CellKind::kText},
                                {"rank", "rank"},
                                {"measured_ns", "measured", CellKind::kTime},
                                {"predicted_ns", "predicted", CellKind::kTime},
                                {"error", "error", CellKind::kChange}}};
  for (const ComparedNode& node : result.offenders)
    table.rows.push_back(
        {node.name, node.kind, node.rank, node.measured.count(), node.predicted.count(), node.error()});
  return table;
}

}  // namespace

Json prediction_json(const ComparisonAnswer& answer) {
  const ComparisonResult& result = answer.result;
  return {{"nadi_version", version()},
          {"cluster", answer.cluster.name},
          {"ranks", answer.ranks},
          {"measured_iteration_s", to_seconds(result.measured_iteration)},
          {"predicted_iteration_s", to_seconds(answer.predicted_iteration)},
          {"iteration_error", answer.iteration_error()},
          {"steps", answer.steps},
          {"disturbed_steps", answer.disturbed},
          {"steps_left_out", answer.left_out},
          {"compared_nodes", result.nodes},
          {"nodes_without_time", result.without_time},
          {"median_error", result.median_error},
          {"computed_measured_s", to_seconds(result.computed_measured)},
          {"computed_predicted_s", to_seconds(result.computed_predicted)},
          {"times_measured", answer.sources.measured},
          {"times_interpolated", answer.sources.interpolated},
          {"times_modelled", answer.sources.model},
          {"nodes_without_work", result.without_work},
          {"kinds", table_json(compared_kinds_table(result))},
          {"offenders", table_json(offenders_table(result))}};
}

void print_prediction(const ComparisonAnswer& answer, std::ostream& out, const ReportStyle& style) {
  const ComparisonResult& result = answer.result;
  out << format("iteration   measured {}, predicted {} on {}: {:+.1f}%\n",
                to_string(result.measured_iteration), to_string(answer.predicted_iteration),
                answer.cluster.name, 100 * answer.iteration_error());
  if (answer.disturbed > 0)
    out << format("disturbed   {} of {} steps{}\n", answer.disturbed, answer.steps + answer.left_out,
                  answer.left_out > 0
                      ? ", left out: more than 2% of the processor time was stolen or taken by others"
                      : ": more than 2% of the processor time was stolen or taken by others");
  out << format("kernels     measured {}, predicted {} per step of a rank\n",
                to_string(result.computed_measured), to_string(result.computed_predicted));
  out << format("single ops  median error {:.1f}% of {}\n", 100 * result.median_error,
                with_thousands(result.nodes));
  out << format("times       {} measured, {} interpolated, {} modelled",
                with_thousands(answer.sources.measured), with_thousands(answer.sources.interpolated),
                with_thousands(answer.sources.model));
  if (result.without_work > 0)
    out << format("; {} kernels of unknown work keep their times and are not compared",
                  with_thousands(result.without_work));
  out << "\n";
  for (const ReportTable& table : {compared_kinds_table(result), offenders_table(result)}) {
    if (table.rows.empty()) continue;
    out << "\n" << style.heading(table.title) << "\n";
    out << table_text(table, {.rows = 0, .bold_titles = style.colour, .width = style.table_width});
  }
}

}  // namespace nadi::inline show
