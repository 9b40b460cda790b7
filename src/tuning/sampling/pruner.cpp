#include "nadi/sampling/pruner.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/sampling/pruners.h"

namespace nadi::inline tuning {
namespace {

struct PrunerEntry {
  PrunerDescription description;
  std::unique_ptr<TrialPruner> (*make)(const PrunerSettings&);
};

constexpr std::array kPruners{
    PrunerEntry{{"none", "no trial is stopped"}, &make_no_pruner},
    PrunerEntry{{"median", "worse than the median of the others at the same step"}, &make_percentile_pruner},
    PrunerEntry{{"percentile", "not among the best so many per cent at the same step"},
                &make_percentile_pruner},
    PrunerEntry{{"successive-halving", "not among the best of its rung, asynchronously"},
                &make_halving_pruner},
    PrunerEntry{{"hyperband", "successive halving in brackets that begin at different steps"},
                &make_hyperband_pruner},
    PrunerEntry{{"threshold", "a report outside of given bounds"}, &make_threshold_pruner},
    PrunerEntry{{"patience", "no improvement over so many reports"}, &make_patience_pruner},
};

constexpr auto pruner_summaries() {
  std::array<PrunerDescription, kPruners.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kPruners[i].description;
  return all;
}
constexpr auto kPrunerSummaries = pruner_summaries();

std::vector<std::string_view> pruner_names() {
  std::vector<std::string_view> names;
  for (const PrunerEntry& entry : kPruners) names.push_back(entry.description.name);
  return names;
}

const PrunerEntry* find_pruner(std::string_view name) {
  for (const PrunerEntry& entry : kPruners)
    if (entry.description.name == name) return &entry;
  return nullptr;
}

// The whole numbers of the settings, with the least that each may be.
struct WholeSetting {
  std::string_view key;
  std::int64_t PrunerSettings::*member;
  std::int64_t least;
};
constexpr std::array kWholeSettings{
    WholeSetting{"startup_trials", &PrunerSettings::startup_trials, 0},
    WholeSetting{"warmup_steps", &PrunerSettings::warmup_steps, 0},
    WholeSetting{"interval_steps", &PrunerSettings::interval_steps, 1},
    WholeSetting{"least_trials", &PrunerSettings::least_trials, 1},
    WholeSetting{"patience", &PrunerSettings::patience, 0},
    WholeSetting{"least_steps", &PrunerSettings::least_steps, 0},
    WholeSetting{"most_steps", &PrunerSettings::most_steps, 0},
    WholeSetting{"reduction", &PrunerSettings::reduction, 0},
    WholeSetting{"early_stopping_rate", &PrunerSettings::early_stopping_rate, 0},
};

}  // namespace

std::span<const PrunerDescription> pruner_descriptions() {
  return kPrunerSummaries;
}

std::string pruner_settings_text(const PrunerSettings& settings) {
  Json json;
  json["name"] = settings.name;
  for (const WholeSetting& setting : kWholeSettings)
    json[std::string(setting.key)] = settings.*setting.member;
  json["percentile"] = settings.percentile;
  if (settings.lower) json["lower"] = *settings.lower;
  if (settings.upper) json["upper"] = *settings.upper;
  json["least_change"] = settings.least_change;
  json["seed"] = settings.seed;
  return json.dump();
}

PrunerSettings parse_pruner_settings(const std::string& text, const std::string& origin) {
  const JsonDocument document = parse_json(text, origin);
  const JsonValue root = document.root();
  std::vector<std::string_view> known{"name", "percentile", "lower", "upper", "least_change", "seed"};
  for (const WholeSetting& setting : kWholeSettings) known.push_back(setting.key);
  root.refuse_keys_except(known);
  PrunerSettings settings;
  if (const auto name = root.find("name")) {
    settings.name = name->as_string();
    if (find_pruner(settings.name) == nullptr)
      throw error_at(*name, fmt::format("unknown pruner '{}'", settings.name),
                     did_you_mean(settings.name, pruner_names()));
  }
  for (const WholeSetting& setting : kWholeSettings) {
    const auto value = root.find(setting.key);
    if (!value) continue;
    settings.*setting.member = value->as_int64();
    if (settings.*setting.member < setting.least)
      throw error_at(*value, fmt::format("{} must be at least {}", setting.key, setting.least));
  }
  if (const auto value = root.find("percentile")) {
    settings.percentile = value->as_double();
    if (!(settings.percentile >= 0 && settings.percentile <= 100))
      throw error_at(*value, "percentile must be between 0 and 100");
  }
  if (const auto value = root.find("lower")) settings.lower = value->as_double();
  if (const auto value = root.find("upper")) settings.upper = value->as_double();
  if (const auto value = root.find("least_change")) {
    settings.least_change = value->as_double();
    if (settings.least_change < 0) throw error_at(*value, "least_change must not be negative");
  }
  if (const auto value = root.find("seed")) {
    if (value->as_int64() < 0) throw error_at(*value, "seed must not be negative");
    settings.seed = static_cast<std::uint64_t>(value->as_int64());
  }
  return settings;
}

std::unique_ptr<TrialPruner> make_pruner(const PrunerSettings& settings) {
  const PrunerEntry* entry = find_pruner(settings.name);
  if (entry == nullptr)
    throw usage_error(fmt::format("unknown pruner '{}'", settings.name),
                      did_you_mean(settings.name, pruner_names()));
  return entry->make(settings);
}

}  // namespace nadi::inline tuning
