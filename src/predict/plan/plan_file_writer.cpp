#include "nadi/base/embedded_file.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/model/catalogue.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/plan/device_runs.h"
#include "nadi/plan/plan_file.h"
#include "nadi/plan/plan_file_keys.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline predict {

std::span<const EmbeddedFile> plan_share_files();

namespace {

namespace fs = std::filesystem;

// The path as the file has it: absolute ones stay; others are relative to its folder, with a '/' so that they
// are not taken for names.
std::string path_from(const fs::path& folder, const std::string& name) {
  if (fs::path(name).is_absolute()) return name;
  const fs::path relative = fs::absolute(name).lexically_normal().lexically_relative(
      (fs::absolute(folder) / ".").lexically_normal());
  const std::string text = relative.generic_string();
  return text.find('/') == std::string::npos ? "./" + text : text;
}

std::string model_from(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json") ||
                       (find_built_in_model(name) == nullptr && fs::exists(name, ignored));
  return is_path ? path_from(folder, name) : name;
}

// ASTRA-sim's clusters are several files with commas between them, or a folder.
std::string cluster_from(const fs::path& folder, const std::string& names) {
  std::string result;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const std::string name = names.substr(at, end - at);
    at = end + 1;
    std::error_code ignored;
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json") ||
                         name.ends_with(".yml") || fs::is_directory(name, ignored);
    if (!result.empty()) result += ',';
    result += is_path ? path_from(folder, name) : name;
  }
  return result;
}

Json recompute_json(const Recompute& recompute) {
  Json json{{"granularity", to_string(recompute.granularity)}};
  if (recompute.granularity != Recompute::Granularity::kFull) return json;
  json["method"] = to_string(recompute.method);
  json["layers"] = recompute.layers;
  return json;
}

Json step_json_of(const PlanFile& file) {
  return {{"seq_length", file.seq_length},
          {"global_batch_size", file.global_batch_size},
          {"micro_batch_size", file.micro_batch_size},
          {"dtype", name_of(file.dtype)},
          {"fp8", file.fp8},
          {"attention", kPlanAttentions[file.fused_attention ? 0 : 1]},
          {"recompute", recompute_json(file.recompute)},
          {"optimizer", to_string(file.optimizer)}};
}

Json plan_json_of(const Plan& plan) {
  Json json{{"tp", plan.tp},
            {"cp", plan.cp},
            {"dp", plan.dp},
            {"pp", plan.pp},
            {"sequence_parallel", plan.sequence_parallel},
            {"zero", plan.zero_stage},
            {"schedule", to_string(plan.schedule)},
            {"virtual_stages", plan.virtual_stages}};
  if (!plan.partition.empty()) json["partition"] = plan.partition;
  return json;
}

// Exact, in the unit that people would take: "1.43 s", "13.796257 ms".
std::string time_text(Nanoseconds time) {
  const auto in = [&](std::int64_t unit, int digits, std::string_view name) {
    std::string text = format("{}.{:0{}}", time.count() / unit, time.count() % unit, digits);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return format("{} {}", text, name);
  };
  if (time.count() >= 1'000'000'000) return in(1'000'000'000, 9, "s");
  if (time.count() >= 1'000'000) return in(1'000'000, 6, "ms");
  return format("{} ns", time.count());
}

Json predicted_json(const PlanPrediction& predicted, const fs::path& folder) {
  Json json = Json::object();
  if (predicted.step_time) json["step_time"] = time_text(*predicted.step_time);
  if (predicted.memory) json["memory"] = size_text(*predicted.memory);
  if (predicted.dollars) json["cost"] = format("{:.6g} $", *predicted.dollars);
  if (!predicted.framework.empty()) json["framework"] = predicted.framework;
  if (predicted.gradient_dtype) json["gradient_reduction_dtype"] = name_of(*predicted.gradient_dtype);
  if (!predicted.collective.empty()) json["collective"] = predicted.collective;
  if (!predicted.layer_times.empty()) json["layer_times"] = path_from(folder, predicted.layer_times);
  return json;
}

}  // namespace

PlanFile plan_file_of(const PlanQuestion& question, const RankedPlan& ranked, const PlanFileNames& names) {
  const PlanCandidate& candidate = ranked.candidate;
  const Nanoseconds time = ranked.simulated.value_or(ranked.estimate.iteration);
  PlanFile file{.model = names.model,
                .seq_length = question.request.seq_length,
                .global_batch_size = question.global_batch_size,
                .micro_batch_size = candidate.micro_batch_size,
                .dtype = question.request.dtype,
                .fp8 = question.request.fp8,
                .fused_attention = question.request.fused_attention,
                .recompute = candidate.recompute,
                .optimizer = question.request.optimizer.kind,
                .plan = candidate.plan,
                .cluster = names.cluster,
                .devices = devices_of(question.cluster, candidate.nodes),
                .predicted = {.step_time = time,
                              .framework = std::string(question.framework),
                              .gradient_dtype = question.overlap.gradient_dtype,
                              .layer_times = names.layer_times}};
  if (question.collective != CollectiveAlgorithm::kAuto)
    file.predicted.collective = to_string(question.collective);
  // Runs may end with devices that no rank is left for.
  file.devices.resize(static_cast<std::size_t>(candidate.plan.world_size()));
  for (const StageEstimate& stage : ranked.estimate.stages)
    if (stage.memory > file.predicted.memory.value_or(Bytes{})) file.predicted.memory = stage.memory;
  if (const auto hourly = dollars_per_hour(question.cluster, candidate.nodes))
    file.predicted.dollars = *hourly * to_seconds(time) / 3600;
  return file;
}

std::string plan_file_text(const PlanFile& file, const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Json json;
  json["nadi_plan"] = kPlanFileVersion;
  json["model"] = model_from(folder, file.model);
  json["step"] = step_json_of(file);
  json["plan"] = plan_json_of(file.plan);
  if (!file.cluster.empty()) json["cluster"] = cluster_from(folder, file.cluster);
  if (!file.devices.empty()) json["devices"] = device_runs_text(file.devices);
  if (file.predicted != PlanPrediction{}) json["predicted"] = predicted_json(file.predicted, folder);
  return dump_json(json);
}

void write_plan_file(const PlanFile& file, const fs::path& path, Overwrite overwrite) {
  write_atomically(path, plan_file_text(file, path), overwrite);
}

std::string_view plan_schema() {
  return embedded_text(plan_share_files(), "plan.schema");
}

}  // namespace nadi::inline predict
