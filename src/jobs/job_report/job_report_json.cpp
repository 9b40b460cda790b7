#include "nadi/job_report/job_report_json.h"

#include <cmath>

#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/job_report/job_comparison.h"
#include "nadi/job_report/job_report.h"

namespace nadi::inline jobs {
namespace {

template <typename Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json time_json(const std::optional<Nanoseconds>& time) {
  return time ? Json(time->count()) : Json(nullptr);
}
Json bytes_json(const std::optional<Bytes>& bytes) {
  return bytes ? Json(bytes->count()) : Json(nullptr);
}

// What a double cannot be in JSON becomes a text.
Json number_json(const std::optional<double>& number) {
  if (!number) return nullptr;
  if (std::isnan(*number)) return "nan";
  if (std::isinf(*number)) return *number > 0 ? "inf" : "-inf";
  return *number;
}

Json split_json(const JobSplit& split) {
  return {{"model", split.model},
          {"world_size", optional_json(split.world_size)},
          {"nodes", optional_json(split.nodes)},
          {"tensor", optional_json(split.tensor)},
          {"context", optional_json(split.context)},
          {"data", optional_json(split.data)},
          {"pipeline", optional_json(split.pipeline)},
          {"virtual_stages", optional_json(split.virtual_stages)},
          {"micro_batch", optional_json(split.micro_batch)},
          {"micro_batches", optional_json(split.micro_batches)},
          {"global_batch", optional_json(split.global_batch)},
          {"seq_length", optional_json(split.seq_length)}};
}

Json nodes_json(const JobReport& report) {
  Json nodes = Json::array();
  for (const ReportedNode& node : report.nodes)
    nodes.push_back({{"node", node.name},
                     {"folder", node.folder},
                     {"node_rank", optional_json(node.node_rank)},
                     {"first_rank", optional_json(node.first_rank)},
                     {"devices", node.devices},
                     {"mean_utilisation", optional_json(node.mean_utilisation)},
                     {"most_temperature", optional_json(node.most_temperature)},
                     {"most_memory_bytes", bytes_json(node.most_memory)},
                     {"starts", node.starts},
                     {"errors", node.errors},
                     {"warnings", node.warnings},
                     {"damaged_lines", node.damaged_lines},
                     {"log_bytes", node.size.count()},
                     {"missing_files", node.missing},
                     {"problems", node.problems}});
  return nodes;
}

Json settings_json(const JobReport& report) {
  Json settings = Json::array();
  for (const SettingRow& row : report.settings) {
    const bool own = is_own_to_node(row);
    Json values = Json::array();
    for (const SettingRow::Value& value : row.in_effect)
      if (!own)
        values.push_back({{"value", value.text},
                          {"printed_as", value.printed_as},
                          {"by", is_of_program(value) ? "program" : "script"},
                          {"nodes", value.nodes},
                          {"file", value.file},
                          {"line", value.line}});
    settings.push_back({{"name", row.name},
                        {"asked", optional_json(row.asked)},
                        {"asked_in", row.where},
                        {"in_effect", std::move(values)},
                        {"differs", row.differs},
                        {"own_to_node", own}});
  }
  return settings;
}

Json steady_json(const SteadyTime& steady) {
  const auto known = [&](Nanoseconds time) { return steady.lines > 0 ? Json(time.count()) : Json(nullptr); };
  Json regimes = Json::array();
  for (const TimeRegime& regime : steady.regimes)
    regimes.push_back({{"first_iteration", regime.first},
                       {"last_iteration", regime.last},
                       {"lines", regime.lines},
                       {"median_ns", regime.median.count()}});
  return {{"lines", steady.lines},
          {"first_iteration", steady.first},
          {"last_iteration", steady.last},
          {"mean_ns", known(steady.mean)},
          {"median_ns", known(steady.median)},
          {"deviation_ns", known(steady.deviation)},
          {"least_ns", known(steady.least)},
          {"most_ns", known(steady.most)},
          {"tenth_ns", known(steady.tenth)},
          {"ninetieth_ns", known(steady.ninetieth)},
          {"warm_up_lines", steady.warm_up_lines},
          {"warm_up_mean_ns", time_json(steady.warm_up_mean)},
          {"regimes", std::move(regimes)},
          {"merged", steady.merged},
          {"unsure", steady.unsure}};
}

// Columns rather than rows: thousands of points are a third of the text.
Json points_json(const JobReport& report) {
  Json first = Json::array(), last = Json::array(), lines = Json::array(), start = Json::array(),
       mean = Json::array(), least = Json::array(), most = Json::array(), warm_up = Json::array(),
       loss = Json::array(), tflops = Json::array(), tokens = Json::array(), rate = Json::array(),
       norm = Json::array(), date = Json::array(), skipped = Json::array(), nan = Json::array();
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const IterationPoint& point = report.points[i];
    first.push_back(point.first);
    last.push_back(point.last);
    lines.push_back(point.lines);
    start.push_back(point.start);
    mean.push_back(time_json(point.mean()));
    least.push_back(point.timed_lines > 0 ? Json(point.least.count()) : Json(nullptr));
    most.push_back(point.timed_lines > 0 ? Json(point.most.count()) : Json(nullptr));
    warm_up.push_back(static_cast<bool>(report.steady.warm_up[i]));
    loss.push_back(number_json(point.loss));
    tflops.push_back(number_json(point.tflops_per_rank));
    tokens.push_back(number_json(point.tokens_per_second));
    rate.push_back(number_json(point.learning_rate));
    norm.push_back(number_json(point.grad_norm));
    date.push_back(optional_json(point.date));
    skipped.push_back(point.skipped);
    nan.push_back(point.nan);
  }
  return {{"first", std::move(first)},
          {"last", std::move(last)},
          {"lines", std::move(lines)},
          {"start", std::move(start)},
          {"mean_ns", std::move(mean)},
          {"least_ns", std::move(least)},
          {"most_ns", std::move(most)},
          {"warm_up", std::move(warm_up)},
          {"loss", std::move(loss)},
          {"tflops_per_rank", std::move(tflops)},
          {"tokens_per_second", std::move(tokens)},
          {"learning_rate", std::move(rate)},
          {"grad_norm", std::move(norm)},
          {"date", std::move(date)},
          {"skipped", std::move(skipped)},
          {"nan", std::move(nan)}};
}

Json validations_json(const JobReport& report) {
  Json validations = Json::array();
  for (const ValidationPoint& point : report.validations)
    validations.push_back({{"iteration", point.iteration}, {"loss", number_json(point.loss)}});
  return validations;
}

Json memory_json(const JobReport& report) {
  Json memory = Json::array();
  for (const ReportedMemory& each : report.memory)
    memory.push_back({{"rank", each.line.rank},
                      {"node", each.node},
                      {"iteration", each.line.iteration},
                      {"allocated_bytes", each.line.allocated.count()},
                      {"most_allocated_bytes", each.line.most_allocated.count()},
                      {"reserved_bytes", each.line.reserved.count()},
                      {"most_reserved_bytes", each.line.most_reserved.count()},
                      {"capacity_bytes", bytes_json(each.capacity)}});
  return memory;
}

// Tenths are all that samplers measure.
Json series_json(const std::vector<float>& values) {
  Json series = Json::array();
  for (const float value : values) {
    if (std::isnan(value)) {
      series.push_back(nullptr);
      continue;
    }
    const double tenths = std::round(static_cast<double>(value) * 10);
    if (std::fmod(tenths, 10) == 0)
      series.push_back(static_cast<std::int64_t>(tenths / 10));
    else
      series.push_back(tenths / 10);
  }
  return series;
}

Json devices_json(const DeviceGrid& grid) {
  Json devices = Json::array();
  for (const GridDevice& device : grid.devices) {
    Json made{{"node", device.node_name},
              {"kind", device.is_gpu ? "gpu" : "cpu"},
              {"index", device.index},
              {"name", device.name},
              {"memory_bytes", bytes_json(device.memory_total)},
              {"samples", device.samples},
              {"mean_utilisation", optional_json(device.mean_utilisation)},
              {"most_temperature", optional_json(device.most_temperature)},
              {"most_memory_bytes", bytes_json(device.most_memory)},
              {"throttled", device.throttled},
              {"utilisation", series_json(device.utilisation)},
              {"temperature", series_json(device.temperature)},
              {"memory_mib", series_json(device.memory)}};
    if (!device.power.empty()) made["power_watts"] = series_json(device.power);
    devices.push_back(std::move(made));
  }
  return {{"by", grid.by_time ? "time" : "sample"},
          {"begin", grid.begin},
          {"step", grid.step},
          {"columns", grid.columns},
          {"merged", grid.merged},
          {"devices", std::move(devices)}};
}

Json timers_json(const TimerTable& table) {
  if (table.iteration == 0) return nullptr;
  Json rows = Json::array(), stages = Json::array();
  for (const TimerRow& row : table.rows)
    rows.push_back({{"timer", row.name},
                    {"ranks", row.ranks},
                    {"least_ns", time_json(row.least)},
                    {"mean_ns", time_json(row.mean)},
                    {"most_ns", row.most.count()},
                    {"fastest_rank", optional_json(row.fastest)},
                    {"slowest_rank", optional_json(row.slowest)}});
  for (const TimerStage& stage : table.stages)
    stages.push_back({{"stage", stage.stage},
                      {"ranks", stage.ranks},
                      {"forward_ns", time_json(stage.forward)},
                      {"backward_ns", time_json(stage.backward)},
                      {"forward_backward_ns", time_json(stage.whole)},
                      {"waiting_share", optional_json(stage.waiting_share)}});
  return {{"iteration", table.iteration},
          {"calls", table.calls},
          {"timers", std::move(rows)},
          {"stages", std::move(stages)}};
}

Json errors_json(const JobReport& report) {
  Json errors = Json::array();
  for (const ErrorGroup& group : report.errors)
    errors.push_back({{"sort", to_string(group.sort)},
                      {"count", group.count},
                      {"text", group.text},
                      {"file", group.file},
                      {"line", group.line},
                      {"start", group.start},
                      {"nodes", group.nodes}});
  return errors;
}

Json findings_json(const std::vector<ReportedFinding>& reported) {
  Json findings = Json::array();
  for (const ReportedFinding& finding : reported)
    findings.push_back({{"rule", finding.rule},
                        {"severity", finding.severity},
                        {"text", finding.text},
                        {"evidence", finding.evidence}});
  return findings;
}

Json scheduler_json(const std::optional<ReportedScheduler>& scheduler) {
  if (!scheduler) return nullptr;
  Json facts = Json::object();
  for (const auto& [name, value] : scheduler->facts) facts[name] = value;
  return {{"scheduler", scheduler->scheduler}, {"facts", std::move(facts)}, {"tail", scheduler->tail}};
}

Json prediction_json(const JobReport& report) {
  if (!report.prediction) return nullptr;
  const JobPrediction& prediction = *report.prediction;
  Json stages = Json::array();
  for (const PredictedStage& stage : prediction.stages) {
    Json made{{"stage", stage.stage},
              {"forward_ns", stage.forward.count()},
              {"backward_ns", stage.backward.count()},
              {"bubble_ns", stage.bubble.count()},
              {"memory_bytes", stage.memory.count()}};
    for (const TimerStage& measured : report.timers.stages)
      if (measured.stage == stage.stage) {
        made["measured_forward_ns"] = time_json(measured.forward);
        made["measured_backward_ns"] = time_json(measured.backward);
      }
    stages.push_back(std::move(made));
  }
  const std::optional<Nanoseconds> step = prediction.step();
  const bool both = step && step->count() > 0 && report.steady.lines > 0;
  Json ratio = nullptr;
  if (both) ratio = static_cast<double>(report.steady.mean.count()) / static_cast<double>(step->count());
  return {{"plan", prediction.plan.string()},
          {"model", prediction.model},
          {"cluster", prediction.cluster},
          {"planned_ns", time_json(prediction.planned)},
          {"simulated_ns", time_json(prediction.simulated)},
          {"measured_ns", report.steady.lines > 0 ? Json(report.steady.mean.count()) : Json(nullptr)},
          {"measured_over_predicted", std::move(ratio)},
          {"other_settings", plan_differences(report)},
          {"problem", prediction.problem},
          {"stages", std::move(stages)}};
}

Json comparison_json(const JobReport& report, const JobReport& other) {
  const JobComparison comparison = compare_jobs(report, other);
  Json settings = Json::array(), figures = Json::array();
  for (const ComparedSetting& setting : comparison.settings)
    settings.push_back({{"name", setting.name},
                        {"here", optional_json(setting.here)},
                        {"other", optional_json(setting.other)}});
  constexpr const char* kUnits[] = {"ns", "bytes", "", "percent", "celsius"};
  for (const ComparedFigure& figure : comparison.figures)
    figures.push_back({{"key", figure.key},
                       {"name", figure.name},
                       {"unit", kUnits[static_cast<std::size_t>(figure.unit)]},
                       {"less_is_better", figure.less_is_better},
                       {"here", optional_json(figure.here)},
                       {"other", optional_json(figure.other)},
                       {"change", optional_json(figure.change())}});
  return {{"job", other.id},
          {"title", other.title},
          {"settings", std::move(settings)},
          {"figures", std::move(figures)},
          {"findings", findings_json(comparison.findings)},
          {"steady", steady_json(other.steady)},
          {"points", points_json(other)}};
}

}  // namespace

std::string job_report_json(const JobReport& report, const JobReportJsonOptions& options) {
  Json folders = Json::array();
  for (const std::filesystem::path& folder : report.folders) folders.push_back(folder.string());
  const std::int64_t all = report.points.empty() ? 0 : report.points.back().iterations;
  Json root{
      {"nadi_version", version()},
      {"job", report.id},
      {"title", report.title},
      {"folders", std::move(folders)},
      {"split", split_json(report.split)},
      {"iterations", report.points.empty() ? 0 : report.points.back().last},
      {"all_iterations", all},
      {"steady", steady_json(report.steady)},
      {"samples_per_second", optional_json(report.samples_per_second)},
      {"tokens_per_second", optional_json(report.tokens_per_second)},
      {"tflops_per_rank", optional_json(report.tflops_per_rank)},
      {"last_loss", number_json(report.last_loss)},
      {"nodes", nodes_json(report)},
      {"missing_node_ranks", report.missing_node_ranks},
      {"settings", settings_json(report)},
      {"points", points_json(report)},
      {"validations", validations_json(report)},
      {"memory", memory_json(report)},
      {"devices", devices_json(report.devices)},
      {"timers", timers_json(report.timers)},
      {"timeline", options.timeline},
      {"errors", errors_json(report)},
      {"warnings", report.warnings},
      {"findings", report.rules_asked ? findings_json(report.findings) : Json(nullptr)},
      {"scheduler", scheduler_json(report.scheduler)},
      {"prediction", prediction_json(report)},
      {"comparison",
       options.compared_with == nullptr ? Json(nullptr) : comparison_json(report, *options.compared_with)},
      {"notes", report.notes}};
  return options.indent ? dump_json(root) : root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nadi::inline jobs
