#include <array>

#include "nadi/base/format.h"
#include "nadi/base/json_file.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_number.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/model/compute_dtypes.h"
#include "nadi/parallel/step_check.h"
#include "nadi/plan/device_runs.h"
#include "nadi/plan/plan_file.h"
#include "nadi/plan/plan_file_keys.h"
#include "nadi/sim/framework.h"
#include "nadi/sim/layer_times.h"
#include "nadi/sim/network_schedule.h"

namespace nadi::inline predict {
namespace {

namespace fs = std::filesystem;

// As the flags of the program have them: larger numbers are typing mistakes.
constexpr std::int64_t kMostPlannedRanks = std::int64_t{1} << 24;
constexpr std::int64_t kMostPlannedStages = 100'000;
constexpr std::int64_t kMostPlannedLayers = 1'000'000;
constexpr std::int64_t kMostPlannedSize = std::int64_t{1} << 40;
constexpr std::int64_t kMostPlannedMicroBatches = 100'000;
constexpr double kMostPlannedDollars = 1e12;

// The choice that a text names; `names` in the order of the result.
std::size_t choice_at(const JsonValue& value, std::span<const std::string_view> names) {
  const std::string& text = value.as_string();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return i;
  throw error_at(value, format("'{}' does not take '{}'", value.path(), text), did_you_mean(text, names));
}

template <typename Enumerator, std::size_t N>
Enumerator enumerator_at(const JsonValue& value, const std::array<Enumerator, N>& all) {
  std::vector<std::string_view> names;
  for (const Enumerator one : all) names.push_back(to_string(one));
  return all[choice_at(value, names)];
}

void read_count(const JsonValue& object, std::string_view key, std::int64_t most, std::int64_t& into) {
  if (const auto value = object.find(key)) into = count_of(*value, 1, most);
}

Recompute read_recompute(const JsonValue& object) {
  constexpr std::array kGranularities{Recompute::Granularity::kNone, Recompute::Granularity::kSelective,
                                      Recompute::Granularity::kFull};
  constexpr std::array kMethods{Recompute::Method::kUniform, Recompute::Method::kBlock};
  object.refuse_keys_except(kPlanRecomputeKeys);
  Recompute recompute;
  recompute.granularity = enumerator_at(object.at("granularity"), kGranularities);
  for (const std::string_view key : {"method", "layers"})
    if (const auto value = object.find(key); value && recompute.granularity != Recompute::Granularity::kFull)
      throw error_at_key(*value, format("'{}' goes with granularity full", value->path()));
  if (const auto value = object.find("method")) recompute.method = enumerator_at(*value, kMethods);
  if (const auto value = object.find("layers"))
    recompute.layers = static_cast<std::int32_t>(count_of(*value, 1, kMostPlannedLayers));
  return recompute;
}

void read_step(const JsonValue& object, PlanFile& file) {
  constexpr std::array kOptimizerKinds{OptimizerKind::kAdamW, OptimizerKind::kAdam, OptimizerKind::kSgd,
                                       OptimizerKind::kSgdSai};
  object.refuse_keys_except(kPlanStepKeys);
  file.seq_length = count_of(object.at("seq_length"), 1, kMostPlannedSize);
  file.global_batch_size = count_of(object.at("global_batch_size"), 1, kMostPlannedSize);
  file.micro_batch_size = count_of(object.at("micro_batch_size"), 1, kMostPlannedSize);
  if (const auto value = object.find("dtype")) {
    std::vector<std::string_view> names;
    for (const auto& [name, dtype] : kDTypes) names.push_back(name);
    file.dtype = kDTypes[choice_at(*value, names)].second;
  }
  if (const auto value = object.find("fp8")) file.fp8 = value->as_bool();
  if (const auto value = object.find("attention"))
    file.fused_attention = choice_at(*value, kPlanAttentions) == 0;
  if (const auto value = object.find("recompute")) file.recompute = read_recompute(*value);
  if (const auto value = object.find("optimizer")) file.optimizer = enumerator_at(*value, kOptimizerKinds);
}

void check_degrees(const JsonValue& object, const Plan& plan) {
  std::int64_t ranks = 1;
  for (const std::int64_t degree : {plan.tp, plan.cp, plan.dp, plan.pp}) {
    if (degree > kMostPlannedRanks / ranks)
      throw error_at_key(object, format("a plan of {} x {} x {} x {} ranks; the limit is {}", plan.tp,
                                        plan.cp, plan.dp, plan.pp, kMostPlannedRanks));
    ranks *= degree;
  }
  if (plan.pp > kMostPlannedStages / plan.virtual_stages)
    throw error_at_key(object, format("a pipeline of {} x {} stages; the limit is {}", plan.pp,
                                      plan.virtual_stages, kMostPlannedStages));
}

Plan read_plan(const JsonValue& object) {
  object.refuse_keys_except(kPlanKeys);
  Plan plan;
  read_count(object, "tp", kMostPlannedRanks, plan.tp);
  read_count(object, "cp", kMostPlannedRanks, plan.cp);
  read_count(object, "dp", kMostPlannedRanks, plan.dp);
  read_count(object, "pp", kMostPlannedRanks, plan.pp);
  read_count(object, "virtual_stages", kMostPlannedStages, plan.virtual_stages);
  check_degrees(object, plan);
  if (const auto value = object.find("sequence_parallel")) plan.sequence_parallel = value->as_bool();
  if (const auto value = object.find("zero")) plan.zero_stage = count_of(*value, 0, 1);
  if (const auto value = object.find("schedule")) {
    std::vector<std::string_view> names;
    for (const ScheduleEntry& entry : schedules()) names.push_back(entry.name);
    plan.schedule = schedules()[choice_at(*value, names)].kind;
  }
  if (const auto list = object.find("partition")) {
    const std::size_t stages = static_cast<std::size_t>(plan.pp * plan.virtual_stages);
    if (list->size() != stages)
      throw error_at_key(*list, format("'{}' has {} stages, and the plan has pp {} x virtual_stages {} = {}",
                                       list->path(), list->size(), plan.pp, plan.virtual_stages, stages));
    for (const JsonValue& value : list->elements())
      plan.partition.push_back(count_of(value, 0, kMostPlannedLayers));
  }
  return plan;
}

// Divides before it multiplies: products of such sizes need not fit 63 bits.
void divide_batch(const JsonValue& step, PlanFile& file) {
  const std::int64_t per_rank = file.global_batch_size / file.plan.dp;
  if (file.global_batch_size % file.plan.dp != 0 || per_rank % file.micro_batch_size != 0)
    throw error_at(
        step.at("global_batch_size"),
        format("a global batch of {} does not divide into micro-batches of {} on {} data-parallel "
               "rank{}",
               file.global_batch_size, file.micro_batch_size, file.plan.dp, file.plan.dp == 1 ? "" : "s"),
        format("it is a multiple of {} x {}", file.micro_batch_size, file.plan.dp));
  file.plan.micro_batches = per_rank / file.micro_batch_size;
  if (file.plan.micro_batches > kMostPlannedMicroBatches)
    throw error_at(step.at("global_batch_size"), format("a step of {} micro-batches; the limit is {}",
                                                        file.plan.micro_batches, kMostPlannedMicroBatches));
}

double dollars_of(const JsonValue& value) {
  const std::string example = "for example \"0.031 $\"";
  if (!value.is_string())
    throw error_at(value, format("'{}' must be a text with a unit", value.path()), example);
  std::string_view text = value.as_string();
  double dollars = 0;
  if (!take_number(text, dollars) || (text != " $" && text != "$") ||
      !(dollars >= 0 && dollars <= kMostPlannedDollars))
    throw error_at(value, format("'{}' is no amount of US dollars", value.as_string()), example);
  return dollars;
}

std::string name_at(const JsonValue& value) {
  if (value.as_string().empty()) throw error_at(value, format("'{}' is empty", value.path()));
  return value.as_string();
}

PlanPrediction read_predicted(const JsonValue& object, const fs::path& path) {
  object.refuse_keys_except(kPlanPredictedKeys);
  PlanPrediction predicted;
  if (const auto value = object.find("step_time")) predicted.step_time = duration_of(*value);
  if (const auto value = object.find("memory")) predicted.memory = size_of_value(*value);
  if (const auto value = object.find("cost")) predicted.dollars = dollars_of(*value);
  if (const auto value = object.find("framework")) {
    std::vector<std::string_view> names;
    for (const Framework& framework : frameworks()) names.push_back(framework.name);
    predicted.framework = names[choice_at(*value, names)];
  }
  if (const auto value = object.find("gradient_reduction_dtype")) {
    std::vector<std::string_view> names;
    for (const auto& [name, dtype] : kDTypes) names.push_back(name);
    predicted.gradient_dtype = kDTypes[choice_at(*value, names)].second;
  }
  if (const auto value = object.find("collective"))
    predicted.collective = collective_algorithm_names()[choice_at(*value, collective_algorithm_names())];
  if (const auto value = object.find("layer_times"))
    predicted.layer_times = (path.parent_path() / name_at(*value)).lexically_normal().string();
  return predicted;
}

void check_version(const JsonValue& root) {
  if (!root.is_object()) throw error_at(root, "a plan is a JSON object");
  if (!root.has("nadi_plan"))
    throw error_at(root, "key 'nadi_plan' is missing: the version of the format",
                   format("\"nadi_plan\": {}", kPlanFileVersion));
  const std::int64_t version = root.at("nadi_plan").as_int64();
  if (version > kPlanFileVersion)
    throw error_at(
        root.at("nadi_plan"),
        format("version {} of the format; this program knows versions up to {}", version, kPlanFileVersion),
        "a newer version of Nadi wrote it");
  if (version < 1) throw error_at(root.at("nadi_plan"), format("there is no version {}", version));
}

bool is_path_in_plan(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") || text.ends_with(".yml");
}

// ASTRA-sim's clusters are several files with commas between them.
std::string opened_from(const fs::path& folder, const std::string& names) {
  std::string result;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const std::string name = names.substr(at, end - at);
    at = end + 1;
    if (!result.empty()) result += ',';
    result += is_path_in_plan(name) ? (folder / name).lexically_normal().string() : name;
  }
  return result;
}

PlanFile read_plan_root(const JsonValue& root, const fs::path& path) {
  check_version(root);
  root.refuse_keys_except(kPlanFileKeys);
  PlanFile file;
  file.model = name_at(root.at("model"));
  if (is_path_in_plan(file.model)) file.model = (path.parent_path() / file.model).lexically_normal().string();
  read_step(root.at("step"), file);
  if (const auto plan = root.find("plan")) file.plan = read_plan(*plan);
  divide_batch(root.at("step"), file);
  if (const auto cluster = root.find("cluster"))
    file.cluster = opened_from(path.parent_path(), name_at(*cluster));
  if (const auto devices = root.find("devices")) {
    if (file.cluster.empty())
      throw error_at_key(*devices, "'devices' are those of a cluster, and the key 'cluster' is missing");
    std::string problem;
    auto list = parse_device_runs(devices->as_string(), file.plan.world_size(), problem);
    if (!list) throw error_at(*devices, std::move(problem), "0-3,8-11 are eight devices, by rank");
    file.devices = *std::move(list);
  }
  if (const auto predicted = root.find("predicted")) file.predicted = read_predicted(*predicted, path);
  return file;
}

}  // namespace

PlanFile parse_plan_file(std::string text, const fs::path& path) {
  const JsonDocument document = parse_json(std::move(text), path.string());
  return read_plan_root(document.root(), path);
}

PlanFile read_plan_file(const fs::path& path) {
  const JsonDocument document = read_json_of(path, "a plan", {FileKind::kPlan});
  return read_plan_root(document.root(), path);
}

StepRequest request_of(const PlanFile& file) {
  StepRequest request{.batch_size = file.global_batch_size / file.plan.dp,
                      .seq_length = file.seq_length,
                      .dtype = file.dtype,
                      .fp8 = file.fp8,
                      .fused_attention = file.fused_attention,
                      .recompute = file.recompute};
  request.optimizer.kind = file.optimizer;
  return request;
}

const Framework& assumed_framework(const PlanFile& file) {
  const Framework* const framework = find_framework(file.predicted.framework);
  return framework != nullptr ? *framework : frameworks().front();
}

SimulationOptions assumed_options(const PlanFile& file, const ModelConfig& config) {
  const PlanPrediction& predicted = file.predicted;
  SimulationOptions options{.overlap = assumed_framework(file).overlap};
  options.overlap.gradient_dtype = predicted.gradient_dtype.value_or(default_gradient_dtype(file.dtype));
  if (const auto collective = collective_algorithm_named(predicted.collective))
    options.collective = *collective;
  if (!predicted.layer_times.empty())
    options.retime = LayerTimes::read(predicted.layer_times).retime(config, request_of(file), file.plan);
  return options;
}

void check_plan_file(const PlanFile& file, const fs::path& path, const ModelConfig& config) {
  try {
    const StepRequest request = request_of(file);
    check_request(config, request);
    check_plan(config, request, file.plan);
  } catch (const Error& error) {
    throw input_error({.file = path.string()},
                      format("the plan does not fit {}: {}", config.name, error.message()), error.hint());
  }
}

std::vector<DeviceId> placed_devices(const PlanFile& file) {
  std::vector<DeviceId> devices = file.devices;
  if (devices.empty())
    for (std::int64_t rank = 0; rank < file.plan.world_size(); ++rank)
      devices.push_back(DeviceId{static_cast<std::int32_t>(rank)});
  return devices;
}

std::vector<DeviceId> check_devices(const PlanFile& file, const fs::path& path, const Cluster& cluster) {
  const std::int64_t ranks = file.plan.world_size(), count = cluster.device_count();
  const auto too_few = [&](const std::string& what) {
    return input_error({.file = path.string()},
                       format("{}, and {} has {}", what, cluster.name, with_thousands(count)));
  };
  if (ranks > count) throw too_few(format("the plan needs {} devices", with_thousands(ranks)));
  std::vector<DeviceId> devices = placed_devices(file);
  for (std::size_t rank = 0; rank < devices.size(); ++rank)
    if (to_number(devices[rank]) >= count)
      throw too_few(format("rank {} is on device {}", rank, to_number(devices[rank])));
  return devices;
}

}  // namespace nadi::inline predict
