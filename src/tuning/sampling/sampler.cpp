#include "nadi/sampling/sampler.h"

#include <fmt/format.h>

#include <array>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/sampling/samplers.h"

namespace nadi::inline tuning {
namespace {

struct SamplerEntry {
  SamplerDescription description;
  std::unique_ptr<TrialSampler> (*make)(const SamplerSettings&, SearchSpace);
};

constexpr std::array kSamplers{
    SamplerEntry{
        {"auto", "gp, in turns with tpe where there are choices, and tpe alone from the 1,000th trial on"},
        &make_auto_sampler},
    SamplerEntry{{"gp", "a Gaussian process and the expected improvement"}, &make_gaussian_process_sampler},
    SamplerEntry{{"tpe", "tree-structured Parzen estimators, of parameters together"}, &make_tpe_sampler},
    SamplerEntry{{"tpe-univariate", "the same, of each parameter alone"}, &make_univariate_tpe_sampler},
    SamplerEntry{{"cmaes", "covariance matrix adaptation, for numbers"}, &make_cmaes_sampler},
    SamplerEntry{{"quasi-random", "a scrambled Halton sequence"}, &make_quasi_random_sampler},
    SamplerEntry{{"random", "uniform at random"}, &make_random_sampler},
    SamplerEntry{{"grid", "every point of a finite space, in random order"}, &make_grid_sampler},
};

constexpr auto descriptions() {
  std::array<SamplerDescription, kSamplers.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kSamplers[i].description;
  return all;
}
constexpr auto kDescriptions = descriptions();

std::vector<std::string_view> sampler_names() {
  std::vector<std::string_view> names;
  for (const SamplerEntry& entry : kSamplers) names.push_back(entry.description.name);
  return names;
}

const SamplerEntry* find_sampler(std::string_view name) {
  for (const SamplerEntry& entry : kSamplers)
    if (entry.description.name == name) return &entry;
  return nullptr;
}

}  // namespace

std::span<const SamplerDescription> sampler_descriptions() {
  return kDescriptions;
}

std::string sampler_settings_text(const SamplerSettings& settings) {
  Json json;
  json["name"] = settings.name;
  json["seed"] = settings.seed;
  return json.dump();
}

SamplerSettings parse_sampler_settings(const std::string& text, const std::string& origin) {
  const JsonDocument document = parse_json(text, origin);
  const JsonValue root = document.root();
  constexpr std::array<std::string_view, 2> known{"name", "seed"};
  root.refuse_keys_except(known);
  SamplerSettings settings;
  if (const auto name = root.find("name")) {
    settings.name = name->as_string();
    if (find_sampler(settings.name) == nullptr)
      throw error_at(*name, fmt::format("unknown sampler '{}'", settings.name),
                     did_you_mean(settings.name, sampler_names()));
  }
  const auto take = [&](std::string_view key, std::int64_t least, std::int64_t& into) {
    const auto value = root.find(key);
    if (!value) return;
    into = value->as_int64();
    if (into < least) throw error_at(*value, fmt::format("{} must be at least {}", key, least));
  };
  std::int64_t seed = 0;
  take("seed", 0, seed);
  settings.seed = static_cast<std::uint64_t>(seed);
  return settings;
}

std::unique_ptr<TrialSampler> make_sampler(const SamplerSettings& settings, SearchSpace space) {
  const SamplerEntry* entry = find_sampler(settings.name);
  if (entry == nullptr)
    throw usage_error(fmt::format("unknown sampler '{}'", settings.name),
                      did_you_mean(settings.name, sampler_names()));
  space.check_parameters();
  return entry->make(settings, std::move(space));
}

}  // namespace nadi::inline tuning
