#include "nadi/report/step_json.h"

#include "nadi/parallel/rank_list.h"
#include "nadi/report/step_tables.h"
#include "nadi/step/step_answer.h"
#include "nadi/step/step_settings.h"

namespace nadi::inline show {
namespace {

Json first_row(const ReportTable& table) {
  return row_json(table.columns, table.rows.at(0));
}

Json layers_json(const ProgramSummary& summary) {
  Json layers = table_json(layer_table(summary));
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i]["phases"] = table_json(phase_table(summary.layers[i].phases));
  return layers;
}

Json memory_json(const MemorySummary& memory) {
  Json object = Json::object();
  for (const MemoryShare& part : memory_parts(memory)) object[std::string(part.key)] = part.size.count();
  object["total_bytes"] = memory.total().count();
  object["peak_live_bytes"] = memory.activations_live.count();
  object["peak_op"] = memory.peak_op;
  object["kept_bytes"] = memory.kept.count();
  object["kept_per_block_bytes"] = memory.kept_per_block.count();
  object["slots"] = memory.slots;
  return object;
}

Json place_json(const RankPlace& place) {
  Json groups = Json::array();
  for (const RankGroup& group : place.groups)
    groups.push_back({{"name", to_string(group.kind)},
                      {"size", group.members.size()},
                      {"ranks", as_ranges(group.members)}});
  return {{"rank", to_number(place.rank)},
          {"tp", place.at.tp},
          {"cp", place.at.cp},
          {"dp", place.at.dp},
          {"pp", place.at.pp},
          {"layers", place.layers},
          {"groups", std::move(groups)}};
}

}  // namespace

Json step_json(const StepAnswer& answer) {
  const ProgramSummary& summary = answer.summary;
  Json root = resolved_json(answer.step);
  root["model"]["ignored_keys"] = answer.step.config.ignored_keys;
  root["rank"] = place_json(answer.place);
  root["parameters"] = summary.parameters;
  root["total"] = first_row(work_table(summary.total()));
  root["phases"] = table_json(phase_table(summary));
  root["layers"] = layers_json(summary);
  root["op_kinds"] = table_json(op_kind_table(summary));
  root["communication"] = table_json(communication_table(summary));
  root["memory"] = memory_json(summary.memory);
  if (answer.device) {
    Json& device = root["device"];
    device["name"] = answer.device->name;
    device["ops"] = answer.device->ops;
    device["kernels"] = answer.device->kernels;
    for (const MemoryShare& part : memory_parts(answer.device->memory))
      device["memory"][std::string(part.key)] = part.size.count();
    device["memory"]["total_bytes"] = answer.device->memory.total().count();
  }
  return root;
}

}  // namespace nadi::inline show
