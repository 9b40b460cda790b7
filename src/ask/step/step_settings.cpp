#include "nadi/step/step_settings.h"

#include "nadi/base/units.h"
#include "nadi/base/version.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/model/dropout.h"
#include "nadi/parallel/model_parameters.h"

namespace nadi::inline ask {
namespace {

class Settings {
 public:
  void add(std::string_view key, Json value, bool applies = true) {
    list.push_back({.key = key, .value = applies ? std::move(value) : Json(nullptr)});
  }
  std::vector<StepSetting> list;
};

std::vector<StepSetting> settings_of_step(const ResolvedStep& step) {
  const StepRequest& request = step.request;
  const ModelConfig& config = step.config;
  const bool training = request.kind == StepKind::kTrain;
  const bool whole = training || request.kind == StepKind::kEvaluate;
  const bool full = request.recompute.granularity == Recompute::Granularity::kFull;
  Settings settings;
  settings.add("step", to_string(request.kind));
  settings.add("batch_size", request.batch_size);
  settings.add("global_batch_size", checked_multiply(request.batch_size, step.plan.dp, "sequences"));
  settings.add("micro_batch_size", request.batch_size / step.plan.micro_batches, training);
  settings.add("micro_batches", step.plan.micro_batches, training);
  settings.add("seq_length", request.seq_length, whole);
  settings.add("num_input_tokens", request.input_tokens, !whole);
  settings.add("num_output_tokens", request.output_tokens, request.kind == StepKind::kGenerate);
  settings.add("dtype", name_of(request.dtype));
  settings.add("fp8", request.fp8);
  settings.add("attention", attention_name(request.fused_attention));
  settings.add("recompute", to_string(request.recompute.granularity), training);
  settings.add("recompute_method", to_string(request.recompute.method), training && full);
  settings.add("recompute_num_layers", request.recompute.layers, training && full);
  settings.add("optimizer", to_string(request.optimizer.kind), training);
  settings.add("weight_decay", request.optimizer.weight_decay, training);
  settings.add("max_grad_norm", request.optimizer.max_grad_norm, training);
  const bool hidden = has_hidden_dropout(config);
  settings.add("dropout", config.attention_dropout, training && step.question.dropout.has_value());
  settings.add("embedding_dropout", config.embedding_dropout, training && hidden);
  settings.add("attention_dropout", config.attention_dropout, training);
  settings.add("residual_dropout", config.residual_dropout, training && hidden);
  return std::move(settings.list);
}

std::vector<StepSetting> settings_of_plan(const ResolvedStep& step) {
  const Plan& plan = step.plan;
  const bool training = step.request.kind == StepKind::kTrain;
  Settings settings;
  settings.add("world_size", plan.world_size());
  settings.add("tp", plan.tp);
  settings.add("cp", plan.cp);
  settings.add("dp", plan.dp);
  settings.add("pp", plan.pp);
  if (step.config.experts > 0) {
    settings.add("ep", plan.ep);
    settings.add("etp", plan.expert_tp());
  }
  settings.add("sequence_parallel", plan.sequence_parallel);
  settings.add("partition", resolved_partition(step.config, plan));
  settings.add("schedule", to_string(plan.schedule), training);
  settings.add("virtual_stages", plan.virtual_stages, training);
  settings.add("zero", plan.zero_stage, training);
  return std::move(settings.list);
}

Json object_of(const std::vector<StepSetting>& settings) {
  Json object = Json::object();
  for (const StepSetting& setting : settings) object[std::string(setting.key)] = setting.value;
  return object;
}

Json model_json(const ModelConfig& config) {
  Json model{{"name", config.name},
             {"model_type", to_string(config.architecture)},
             {"layers", config.layers},
             {"width", config.width},
             {"heads", config.heads},
             {"kv_heads", config.kv_heads},
             {"head_width", config.head_width},
             {"ffn_width", config.ffn_width},
             {"positions", config.positions},
             {"vocabulary", config.vocabulary},
             {"tied_embeddings", config.tied_embeddings},
             {"parameters", model_parameters(config)}};
  if (config.experts > 0) {
    model["active_parameters"] = active_parameters(config);
    model["experts"] = config.experts;
    model["experts_per_token"] = config.experts_per_token;
    model["expert_width"] = config.expert_width;
    model["shared_expert_width"] = config.shared_expert_width;
    model["sparse_layers"] = sparse_layers(config);
  }
  return model;
}

std::string metadata_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

StepSettings step_settings(const ResolvedStep& step) {
  return {.step = settings_of_step(step), .plan = settings_of_plan(step)};
}

Json resolved_json(const ResolvedStep& step) {
  const StepSettings settings = step_settings(step);
  return {{"nadi_version", version()},
          {"model", model_json(step.config)},
          {"step", object_of(settings.step)},
          {"plan", object_of(settings.plan)}};
}

std::vector<std::pair<std::string, std::string>> trace_metadata(const ResolvedStep& step) {
  const Json resolved = resolved_json(step);
  std::vector<std::pair<std::string, std::string>> metadata{
      {"nadi_version", metadata_text(resolved.at("nadi_version"))}};
  for (const std::string_view part : {"model", "step", "plan"})
    for (const auto& [key, value] : resolved.at(std::string(part)).items())
      if (!value.is_null()) metadata.emplace_back(key == "name" ? "model" : key, metadata_text(value));
  return metadata;
}

}  // namespace nadi::inline ask
