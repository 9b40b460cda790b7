#include "nadi/draw/tune_page.h"

#include <cmath>

#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/draw/html_page.h"

namespace nadi::inline show {
namespace {

// JSON has no infinities: they are texts there.
Json json_of_figure(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? Json(nullptr) : Json(value > 0 ? "inf" : "-inf");
}

Json json_of_optional(const std::optional<double>& value) {
  return value ? json_of_figure(*value) : Json(nullptr);
}

Json json_of_trial(const TunePageTrial& trial) {
  Json point = Json::array();
  for (const auto& value : trial.point) point.push_back(json_of_optional(value));
  Json values = Json::array();
  for (const double value : trial.values) values.push_back(json_of_figure(value));
  Json intermediate = Json::array();
  for (const auto& [step, value] : trial.intermediate) intermediate.push_back({step, json_of_figure(value)});
  return {{"number", trial.number},
          {"state", trial.state},
          {"point", std::move(point)},
          {"values", std::move(values)},
          {"intermediate", std::move(intermediate)},
          {"begin", json_of_optional(trial.begin)},
          {"end", json_of_optional(trial.end)},
          {"seconds", json_of_optional(trial.seconds)},
          {"outcome", trial.outcome},
          {"reason", trial.reason},
          {"role", trial.role},
          {"setting", trial.setting},
          {"best", trial.best}};
}

}  // namespace

std::string tune_page_data(const TunePage& page) {
  Json data{{"nadi_version", version()}};
  data["objectives"] = Json::array();
  for (const TunePageObjective& objective : page.objectives)
    data["objectives"].push_back({{"name", objective.name}, {"maximize", objective.maximize}});
  data["parameters"] = Json::array();
  for (const TunePageParameter& parameter : page.parameters) {
    Json importance = Json::array();
    for (const auto& share : parameter.importance) importance.push_back(json_of_optional(share));
    data["parameters"].push_back({{"name", parameter.name},
                                  {"log", parameter.log},
                                  {"choices", parameter.choices},
                                  {"low", parameter.low},
                                  {"high", parameter.high},
                                  {"importance", std::move(importance)}});
  }
  data["trials"] = Json::array();
  for (const TunePageTrial& trial : page.trials) data["trials"].push_back(json_of_trial(trial));
  data["baseline"] = page.baseline ? Json(*page.baseline) : Json(nullptr);
  data["command"] = page.command;
  data["notes"] = page.notes;
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_tune_page(const TunePage& page, const std::filesystem::path& path, Overwrite overwrite) {
  HtmlPage html(path, overwrite, tune_bundle(), page.title);
  html.head(dump_json({{"title", page.title}, {"subtitle", page.subtitle}}));
  html.block("study", tune_page_data(page));
  html.commit();
}

}  // namespace nadi::inline show
