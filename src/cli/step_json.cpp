#include "nadi/cli/step_json.h"

#include "nadi/base/version.h"
#include "nadi/cli/step_view.h"
#include "nadi/parallel/rank_list.h"

namespace nadi {
namespace {

// Adds the figures to an object that may already name what they are of.
void add_work(Json& object, const WorkSummary& work) {
  object["ops"] = work.ops;
  object["linear_flops"] = work.linear.count();
  object["linear_without_head_flops"] = work.linear_without_head().count();
  object["attention_flops"] = work.attention.count();
  object["other_flops"] = work.cost.vector.count();
  object["flops"] = work.cost.flops().count();
  object["read_bytes"] = work.cost.read.count();
  object["written_bytes"] = work.cost.written.count();
}

Json phases_json(const std::array<WorkSummary, kPhaseCount>& phases, const MemorySummary* memory) {
  Json list = Json::array();
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (phases[i].ops == 0) continue;
    Json phase{{"phase", to_string(static_cast<Phase>(i))}};
    add_work(phase, phases[i]);
    if (memory != nullptr) phase["peak_live_bytes"] = memory->live_by_phase[i].count();
    list.push_back(std::move(phase));
  }
  return list;
}

Json layer_json(const LayerSummary& layer) {
  Json object{{"name", layer.name},
              {"block", layer.block >= 0 ? Json(layer.block) : Json(nullptr)},
              {"parameters", layer.parameters}};
  add_work(object, layer.total());
  object["phases"] = phases_json(layer.phases, nullptr);
  return object;
}

Json memory_json(const MemorySummary& memory) {
  return {{"parameters_bytes", memory.of(Role::kParameter).count()},
          {"gradients_bytes", memory.of(Role::kGradient).count()},
          {"optimizer_state_bytes", memory.of(Role::kOptimizerState).count()},
          {"activations_bytes", memory.activations.count()},
          {"caches_bytes", memory.of(Role::kCache).count()},
          {"inputs_bytes", memory.of(Role::kInput).count()},
          {"constants_bytes", memory.of(Role::kConstant).count()},
          {"metrics_bytes", memory.of(Role::kMetric).count()},
          {"total_bytes", memory.total().count()},
          {"peak_live_bytes", memory.activations_live.count()},
          {"peak_op", memory.peak_op},
          {"kept_bytes", memory.kept.count()},
          {"kept_per_block_bytes", memory.kept_per_block.count()},
          {"slots", memory.slots}};
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

Json communication_json(const ProgramSummary& summary) {
  Json list = Json::array();
  for (const auto& [group, communication] : summary.communication)
    list.push_back(
        {{"group", group}, {"ops", communication.ops}, {"sent_bytes", communication.sent.count()}});
  return list;
}

Json settings_json(const std::vector<Setting>& settings) {
  Json object = Json::object();
  for (const Setting& setting : settings) object[std::string(setting.key)] = setting.value;
  return object;
}

}  // namespace

Json model_json(const ModelConfig& config) {
  return {{"name", config.name},
          {"model_type", to_string(config.architecture)},
          {"layers", config.layers},
          {"width", config.width},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_width", config.head_width},
          {"ffn_width", config.ffn_width},
          {"positions", config.positions},
          {"vocabulary", config.vocabulary},
          {"tied_embeddings", config.tied_embeddings}};
}

Json resolved_json(const ResolvedStep& step, std::int64_t parameters) {
  Json root{{"nadi_version", version()}, {"model", model_json(step.config)}};
  root["model"]["parameters"] = parameters;
  root["step"] = settings_json(step.settings);
  root["plan"] = settings_json(step.plan_settings);
  return root;
}

Json step_json(const StepView& view) {
  const ProgramSummary& summary = view.summary;
  Json root = resolved_json(view.step, view.model_parameters);
  root["model"]["ignored_keys"] = view.step.config.ignored_keys;
  root["rank"] = place_json(view.place);
  root["parameters"] = summary.parameters;
  root["total"] = Json::object();
  add_work(root["total"], summary.total());
  root["phases"] = phases_json(summary.phases, &summary.memory);
  root["layers"] = Json::array();
  for (const LayerSummary& layer : summary.layers) root["layers"].push_back(layer_json(layer));
  root["op_kinds"] = Json::array();
  for (const auto& [kind, work] : summary.op_kinds) {
    Json object{{"kind", to_string(kind)}};
    add_work(object, work);
    root["op_kinds"].push_back(std::move(object));
  }
  root["communication"] = communication_json(summary);
  root["memory"] = memory_json(summary.memory);
  return root;
}

}  // namespace nadi
