#include "nadi/tune/tune_study.h"

#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/study/study_storage.h"

namespace nadi::inline tuning {
namespace {

constexpr std::int64_t kTuneVersion = 1;

constexpr std::array<std::string_view, 14> kTuneKeys{
    "version", "space",   "command", "environment", "templates", "metrics", "limits",
    "repeat",  "sampler", "pruner",  "trials",      "baseline",  "planned", "working_folder"};

template <typename Number>
void add_optional(Json& json, const char* key, const std::optional<Number>& value) {
  if (value) json[key] = *value;
}

Json json_of_limits(const ProcessLimits& limits) {
  Json json = Json::object();
  if (limits.timeout) json["timeout_ms"] = limits.timeout->count();
  json["grace_ms"] = limits.grace.count();
  add_optional(json, "gpu_memory_share", limits.gpu.memory_share);
  add_optional(json, "gpu_least_utilisation", limits.gpu.least_utilisation);
  add_optional(json, "gpu_temperature", limits.gpu.temperature);
  json["gpu_interval_ms"] = limits.gpu.interval.count();
  json["gpu_settling_ms"] = limits.gpu.settling.count();
  return json;
}

ProcessLimits limits_of_json(const JsonValue& json) {
  constexpr std::array<std::string_view, 7> kKeys{
      "timeout_ms",      "grace_ms",        "gpu_memory_share", "gpu_least_utilisation",
      "gpu_temperature", "gpu_interval_ms", "gpu_settling_ms"};
  json.refuse_keys_except(kKeys);
  ProcessLimits limits;
  using std::chrono::milliseconds;
  if (const auto value = json.find("timeout_ms")) limits.timeout = milliseconds(value->as_int64());
  limits.grace = milliseconds(json.at("grace_ms").as_int64());
  if (const auto value = json.find("gpu_memory_share")) limits.gpu.memory_share = value->as_double();
  if (const auto value = json.find("gpu_least_utilisation"))
    limits.gpu.least_utilisation = value->as_double();
  if (const auto value = json.find("gpu_temperature")) limits.gpu.temperature = value->as_double();
  limits.gpu.interval = milliseconds(json.at("gpu_interval_ms").as_int64());
  limits.gpu.settling = milliseconds(json.at("gpu_settling_ms").as_int64());
  return limits;
}

Json json_of_metric(const MetricSpec& metric) {
  std::string_view reduction;
  for (const ReductionEntry& entry : metric_reductions())
    if (entry.reduction == metric.reduction) reduction = entry.name;
  return {{"metric", metric_text(metric)},
          {"direction", to_string(metric.direction)},
          {"reduction", reduction},
          {"warmup", metric.warmup}};
}

MetricSpec metric_of_json(const JsonValue& json) {
  MetricSpec metric = metric_of_text(json.at("metric").as_string());
  const std::string& direction = json.at("direction").as_string();
  if (direction != "minimize" && direction != "maximize")
    throw error_at(json.at("direction"), "neither minimize nor maximize");
  metric.direction = direction == "minimize" ? StudyDirection::kMinimize : StudyDirection::kMaximize;
  bool known = false;
  for (const ReductionEntry& entry : metric_reductions())
    if (entry.name == json.at("reduction").as_string()) {
      metric.reduction = entry.reduction;
      known = true;
    }
  if (!known) throw error_at(json.at("reduction"), "unknown reduction");
  metric.warmup = json.at("warmup").as_int64();
  return metric;
}

Json json_of_planned(const PlannedRun& planned) {
  return {{"model", planned.model},
          {"cluster", planned.cluster},
          {"plan_file", planned.plan_file},
          {"gpus", planned.gpus},
          {"global_batch_size", planned.global_batch_size},
          {"seq_length", planned.seq_length},
          {"dtype", planned.dtype},
          {"fp8", planned.fp8},
          {"attention", planned.attention},
          {"optimizer", planned.optimizer}};
}

PlannedRun planned_of_json(const JsonValue& json) {
  PlannedRun planned{.model = json.at("model").as_string(),
                     .cluster = json.at("cluster").as_string(),
                     .plan_file = json.at("plan_file").as_string(),
                     .gpus = json.at("gpus").as_int64(),
                     .global_batch_size = json.at("global_batch_size").as_int64(),
                     .seq_length = json.at("seq_length").as_int64(),
                     .dtype = json.at("dtype").as_string()};
  // Not in studies of earlier programs.
  if (const auto value = json.find("fp8")) planned.fp8 = value->as_bool();
  if (const auto value = json.find("attention")) planned.attention = value->as_string();
  if (const auto value = json.find("optimizer")) planned.optimizer = value->as_string();
  return planned;
}

}  // namespace

std::string tune_study_json(const TuneStudy& tune) {
  Json json{{"version", kTuneVersion}};
  json["space"] = Json::parse(tune_space_json(tune.space));
  json["command"] = tune.trial.command.words;
  json["environment"] = Json::object();
  for (const auto& [name, value] : tune.trial.command.environment) json["environment"][name] = value;
  json["templates"] = Json::object();
  for (const CommandFile& file : tune.trial.command.templates)
    json["templates"][file.path.string()] = file.text;
  json["metrics"] = Json::array();
  for (const MetricSpec& metric : tune.trial.metrics) json["metrics"].push_back(json_of_metric(metric));
  json["limits"] = json_of_limits(tune.trial.limits);
  json["repeat"] = tune.trial.repeat;
  json["sampler"] = Json::parse(sampler_settings_text(tune.sampler));
  json["pruner"] = Json::parse(pruner_settings_text(tune.pruner));
  json["trials"] = tune.trials;
  json["baseline"] = tune.baseline;
  json["planned"] = json_of_planned(tune.planned);
  json["working_folder"] = tune.working_folder;
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

TuneStudy tune_study_of(const Study& study, const std::string& file) {
  const auto text = study.user_attributes.find(kTuneAttribute);
  if (text == study.user_attributes.end())
    throw input_error(
        {.file = file},
        format("the study '{}' was not made by nadi tune: it says nothing of a command", study.name),
        "show, best and report take it; start a new one to tune");
  const std::string origin = format("{}: {} of study '{}'", file, kTuneAttribute, study.name);
  const JsonDocument document = parse_json(text->second, origin);
  const JsonValue root = document.root();
  if (const JsonValue version = root.at("version"); version.as_int64() != kTuneVersion)
    throw error_at(version, format("version {} of the settings; this program reads {}", version.as_int64(),
                                   kTuneVersion));
  root.refuse_keys_except(kTuneKeys);
  // The parts are texts of their own for their readers.
  const Json parsed = Json::parse(text->second);
  TuneStudy tune;
  tune.space = parse_tune_space(parsed.at("space").dump(), origin);
  tune.space.check();
  for (const JsonValue& word : root.at("command").elements())
    tune.trial.command.words.push_back(word.as_string());
  for (const auto& [name, value] : root.at("environment").items())
    tune.trial.command.environment.emplace_back(name, value.as_string());
  for (const auto& [path, value] : root.at("templates").items())
    tune.trial.command.templates.push_back({.path = std::string(path), .text = value.as_string()});
  for (const JsonValue& metric : root.at("metrics").elements())
    tune.trial.metrics.push_back(metric_of_json(metric));
  if (tune.trial.metrics.empty()) throw error_at(root.at("metrics"), "there is no metric");
  tune.trial.limits = limits_of_json(root.at("limits"));
  tune.trial.repeat = root.at("repeat").as_int64();
  tune.sampler = parse_sampler_settings(parsed.at("sampler").dump(), origin);
  tune.pruner = parse_pruner_settings(parsed.at("pruner").dump(), origin);
  tune.trials = root.at("trials").as_int64();
  tune.baseline = root.at("baseline").as_bool();
  tune.planned = planned_of_json(root.at("planned"));
  tune.working_folder = root.at("working_folder").as_string();
  check_command(tune.trial.command, tune.space);
  return tune;
}

std::vector<StudyDirection> directions_of(const TuneStudy& tune) {
  std::vector<StudyDirection> directions;
  for (const MetricSpec& metric : tune.trial.metrics) directions.push_back(metric.direction);
  return directions;
}

std::filesystem::path trials_folder_of(const std::filesystem::path& file, std::string_view study) {
  std::string ending;
  if (study != kDefaultStudyName) {
    ending = ".";
    for (const char c : study) {
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                            c == '_' || c == '-' || c == '.';
      ending += is_plain ? std::string(1, c) : format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  // A server keeps no logs: they lie where the tuner runs.
  if (is_study_server(file.string()))
    return std::filesystem::absolute(std::string(kDefaultStudyName) + ending + ".trials");
  return std::filesystem::absolute(file).replace_extension(ending + ".trials");
}

std::string trial_folder_name(std::int64_t number) {
  return format("{:05}", number);
}

std::optional<std::string> text_attribute(const StudyTrial& trial, std::string_view name) {
  const std::string* text = trial.user_attribute(name);
  if (text == nullptr) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_string()) return std::nullopt;
  return json.get<std::string>();
}

std::optional<double> number_attribute(const StudyTrial& trial, std::string_view name) {
  const std::string* text = trial.user_attribute(name);
  if (text == nullptr) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_number()) return std::nullopt;
  return json.get<double>();
}

std::string attribute_text(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace nadi::inline tuning
