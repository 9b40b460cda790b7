#include "nadi/draw/answer_page.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/calibration/calibration_question.h"
#include "nadi/draw/html_page.h"
#include "nadi/parallel/program_memory.h"
#include "nadi/report/calibration_report.h"
#include "nadi/report/plan_report.h"
#include "nadi/report/simulation_report.h"
#include "nadi/report/step_json.h"
#include "nadi/sim/device_measured.h"
#include "nadi/sim/device_model.h"
#include "nadi/step/step_answer.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kMostPoints = 600;  // of a curve: more than a screen has pixels for
constexpr std::size_t kMostOps = 400;     // of a calibration's table, each left out by itself

// A curve with at most kMostPoints points, each the greatest of those that it stands for.
class Curve {
 public:
  explicit Curve(std::size_t points)
      : each_(std::max<std::size_t>(1, (points + kMostPoints - 1) / kMostPoints)) {}

  void add(std::int64_t at, Bytes used) {
    if (seen_++ % each_ == 0) {
      at_.push_back(at);
      used_.push_back(used.count());
    } else if (used.count() > used_.back()) {
      at_.back() = at;
      used_.back() = used.count();
    }
  }

  Json json() const { return {{"at", at_}, {"used_bytes", used_}}; }

 private:
  std::size_t each_, seen_ = 0;
  std::vector<std::int64_t> at_, used_;
};

// What is alive while each op of a program runs, with all that is resident; and where phases begin.
Json memory_by_op(const MemorySummary& memory, const Program& program) {
  const ProgramMemory planned = plan_program_memory(program);
  Bytes largest, resident;
  for (const ProgramMemory::OfGraph& graph : planned.graphs) largest = std::max(largest, graph.plan.peak);
  for (const Bytes size : memory.resident) resident += size;
  // What other micro-batches that are under way keep stays for the whole time.
  const Bytes always = resident + planned.live - largest;
  std::size_t ops = 0;
  for (const Graph& graph : program.graphs) ops += graph.ops().size();
  Curve curve(ops);
  Json phases = Json::array();
  std::int64_t at = 0;
  for (std::size_t g = 0; g < program.graphs.size(); ++g)
    for (std::size_t i = 0; i < program.graphs[g].ops().size(); ++i, ++at) {
      const std::string phase(to_string(program.graphs[g].ops()[i].phase));
      if (phases.empty() || phases.back().at("name") != phase)
        phases.push_back({{"name", phase}, {"at", at}});
      curve.add(at, always + planned.graphs[g].plan.live[i]);
    }
  Json json = curve.json();
  json["phases"] = std::move(phases);
  json["resident_bytes"] = resident.count();
  return json;
}

Json left_out_ops(const DeviceSpec& device) {
  const std::vector<MeasuredOp>& ops = device.measured.ops;
  const std::size_t each = std::max<std::size_t>(1, (ops.size() + kMostOps - 1) / kMostOps);
  Json rows = Json::array();
  for (std::size_t i = 0; i < ops.size(); i += each) {
    if (ops[i].time.count() == 0) continue;
    DeviceSpec others = device;
    std::erase_if(others.measured.ops, [&](const MeasuredOp& op) {
      MeasuredOp same = op;
      same.time = ops[i].time;
      return same == ops[i];
    });
    const OpTime predicted = DeviceModel(others).time_of(work_of(ops[i]));
    if (predicted.time.count() == 0) continue;
    rows.push_back(
        {{"kind", std::string(to_string(ops[i].kind))},
         {"work", ops[i].m > 0 ? format("{}×{}×{}×{}", ops[i].batches, ops[i].m, ops[i].n, ops[i].k)
                               : to_string(ops[i].read + ops[i].written)},
         {"measured_ns", ops[i].time.count()},
         {"predicted_ns", predicted.time.count()},
         {"by_model", predicted.source == TimeSource::kModel}});
  }
  return rows;
}

}  // namespace

AnswerPage step_page(const StepAnswer& answer, std::span<const StagePicture> stages) {
  AnswerPage page{.kind = "step",
                  .title = answer.step.config.name,
                  .subtitle = format("a step of rank {}, by stage, by layer", to_number(answer.place.rank)),
                  .answer = step_json(answer)};
  page.more["stages"] = Json::array();
  for (const StagePicture& stage : stages) {
    const Json all = step_json(stage.answer);
    page.more["stages"].push_back({{"rank", to_number(stage.answer.place.rank)},
                                   {"layers", stage.answer.place.layers.size()},
                                   {"memory", all.at("memory")},
                                   {"over_step", memory_by_op(stage.answer.summary.memory, stage.program)}});
  }
  return page;
}

AnswerPage simulation_page(const SimulationView& view) {
  AnswerPage page{.kind = "simulation",
                  .title = format("{} on {}", view.subject, view.cluster.name),
                  .subtitle = format("predicted: {}", to_string(view.result.iteration_time)),
                  .answer = simulation_json(view)};
  page.more["memory_over_step"] = Json::array();
  for (const SimulatedClass& ranks : view.result.classes) {
    Curve curve(ranks.memory.over_time.size() + 1);
    curve.add(0, ranks.memory.resident);
    for (const MemoryPoint& point : ranks.memory.over_time) curve.add(point.time.count(), point.used);
    page.more["memory_over_step"].push_back(curve.json());
  }
  page.more["nodes"] = Json::array();
  for (std::size_t node = 0; node < view.cluster.nodes.size(); ++node) {
    const NodeSpec& kind = view.cluster.node(static_cast<std::int32_t>(node));
    page.more["nodes"].push_back(
        {{"kind", kind.name},
         {"devices", kind.devices},
         {"device", view.cluster.devices[static_cast<std::size_t>(kind.device)].name}});
  }
  return page;
}

AnswerPage plan_page(const PlanView& view, std::string title) {
  return {.kind = "plan",
          .title = std::move(title),
          .subtitle = question_text(view.answer.asked),
          .answer = plan_report_json(view)};
}

AnswerPage calibration_page(const CalibrationAnswer& answer) {
  AnswerPage page{.kind = "calibration",
                  .title = answer.machine.name,
                  .subtitle = format("measured in {:.0f} s: {}", answer.seconds, answer.file.string()),
                  .answer = calibration_json(answer)};
  page.more["ops"] = Json::array();
  for (const NodeSpec& node : answer.machine.kinds) {
    const DeviceSpec& device = answer.machine.devices[static_cast<std::size_t>(node.device)];
    page.more["ops"].push_back({{"ranks", node.devices}, {"rows", left_out_ops(device)}});
  }
  return page;
}

void write_answer_page(const AnswerPage& page, const std::filesystem::path& path, Overwrite overwrite) {
  HtmlPage html(path, overwrite, answer_bundle(), page.title);
  html.head(dump_json({{"title", page.title}, {"subtitle", page.subtitle}, {"kind", page.kind}}));
  html.block("answer", page.answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  html.block("more", page.more.dump(-1, ' ', false, Json::error_handler_t::replace));
  html.commit();
}

}  // namespace nadi::inline show
