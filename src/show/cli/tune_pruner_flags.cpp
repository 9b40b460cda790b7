#include "nadi/cli/tune_pruner_flags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::string_view kPruningGroup = "when the pruner ends a trial (--pruner)";

constexpr std::array<std::string_view, 2> kByPercentile{"median", "percentile"};
constexpr std::array<std::string_view, 1> kPercentileAlone{"percentile"};
constexpr std::array<std::string_view, 3> kByStep{"median", "percentile", "threshold"};
constexpr std::array<std::string_view, 1> kThreshold{"threshold"};
constexpr std::array<std::string_view, 1> kPatience{"patience"};
constexpr std::array<std::string_view, 2> kHalving{"successive-halving", "hyperband"};
constexpr std::array<std::string_view, 1> kHalvingAlone{"successive-halving"};
constexpr std::array<std::string_view, 1> kHyperband{"hyperband"};

using Whole = std::int64_t PrunerSettings::*;
using Real = double PrunerSettings::*;
using Bound = std::optional<double> PrunerSettings::*;

struct PrunerFlag {
  std::string_view name;
  std::string_view value;
  std::string_view help;
  std::string_view fallback;  // where the default is not a number of PrunerSettings
  std::span<const std::string_view> pruners;
  std::variant<Whole, Real, Bound> setting;
  std::int64_t least = 0;  // of whole numbers
};

// Names as Optuna has them.
constexpr std::array kPrunerFlags{
    PrunerFlag{"--pruner-startup-trials", "N", "complete trials before anything is ended", "", kByPercentile,
               &PrunerSettings::startup_trials},
    PrunerFlag{"--pruner-warmup-steps", "N", "no trial is ended before this step", "", kByStep,
               &PrunerSettings::warmup_steps},
    PrunerFlag{"--pruner-interval-steps", "N", "one verdict for so many steps", "", kByStep,
               &PrunerSettings::interval_steps, 1},
    PrunerFlag{"--pruner-min-trials", "N", "other trials with a figure at the same step", "", kByPercentile,
               &PrunerSettings::least_trials, 1},
    PrunerFlag{"--pruner-percentile", "PERCENT", "the best so many per cent go on", "", kPercentileAlone,
               &PrunerSettings::percentile},
    PrunerFlag{"--pruner-lower", "X", "a figure below it ends the trial", "none", kThreshold,
               &PrunerSettings::lower},
    PrunerFlag{"--pruner-upper", "X", "a figure above it ends the trial", "none", kThreshold,
               &PrunerSettings::upper},
    PrunerFlag{"--pruner-patience", "N", "figures without an improvement", "", kPatience,
               &PrunerSettings::patience},
    PrunerFlag{"--pruner-min-delta", "X", "a smaller change is no improvement", "", kPatience,
               &PrunerSettings::least_change},
    PrunerFlag{"--pruner-min-resource", "N",
               "steps before the first verdict; 0: a hundredth of the longest complete trial", "", kHalving,
               &PrunerSettings::least_steps},
    PrunerFlag{"--pruner-max-resource", "N", "steps of a whole trial", "those of the longest complete trial",
               kHyperband, &PrunerSettings::most_steps, 1},
    PrunerFlag{"--pruner-reduction-factor", "N", "one trial in so many goes on to the next rung",
               "4; 3 with hyperband", kHalving, &PrunerSettings::reduction, 2},
    PrunerFlag{"--pruner-early-stopping-rate", "N", "rungs left out at the beginning", "", kHalvingAlone,
               &PrunerSettings::early_stopping_rate},
};

std::vector<std::string_view> names_of_pruners() {
  std::vector<std::string_view> names;
  for (const PrunerDescription& entry : pruner_descriptions()) names.push_back(entry.name);
  return names;
}

std::string pruners_text(const PrunerFlag& flag, std::string_view last) {
  return join({flag.pruners.begin(), flag.pruners.end()}, last);
}

std::string default_text(const PrunerFlag& flag) {
  if (!flag.fallback.empty()) return std::string(flag.fallback);
  const PrunerSettings settings;
  if (const auto* whole = std::get_if<Whole>(&flag.setting)) return format("{}", settings.**whole);
  return format("{}", settings.*std::get<Real>(flag.setting));
}

// A threshold may be negative, and numbers of Flags may not.
double real_flag(const Flags& flags, std::string_view name) {
  const std::string text = *flags.text(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    throw usage_error(format("{} takes a number, not '{}'", name, text));
  return value;
}

void take(const Flags& flags, const PrunerFlag& flag, PrunerSettings& settings) {
  if (const auto* whole = std::get_if<Whole>(&flag.setting)) {
    settings.** whole = *flags.integer(flag.name, flag.least);
  } else if (const auto* real = std::get_if<Real>(&flag.setting)) {
    settings.** real = real_flag(flags, flag.name);
  } else {
    settings.*std::get<Bound>(flag.setting) = real_flag(flags, flag.name);
  }
}

}  // namespace

void add_pruner_flags(Flags& flags) {
  std::string summaries;
  for (const PrunerDescription& entry : pruner_descriptions())
    summaries += format("{}{}: {}", summaries.empty() ? "" : "; ", entry.name, entry.summary);
  FlagHeading group(flags, kPruningGroup);
  group.value("--pruner", "NAME",
              format("ends hopeless trials by the figures that they print. {}", summaries), "none",
              {.choices = names_of_pruners()});
  for (const PrunerFlag& flag : kPrunerFlags)
    group.value(flag.name, flag.value, format("{}: {}", pruners_text(flag, ", "), flag.help),
                default_text(flag));
}

PrunerSettings pruner_settings(const Flags& flags) {
  PrunerSettings settings;
  if (const auto name = flags.text("--pruner")) settings.name = *name;
  for (const PrunerFlag& flag : kPrunerFlags) {
    if (!flags.given(flag.name)) continue;
    if (std::ranges::find(flag.pruners, settings.name) == flag.pruners.end())
      throw usage_error(settings.name == "none"
                            ? format("{} needs --pruner", flag.name)
                            : format("{} is no setting of the pruner '{}'", flag.name, settings.name),
                        format("it belongs to --pruner {}", pruners_text(flag, " and ")));
    take(flags, flag, settings);
  }
  if (settings.name == "threshold" && !settings.lower && !settings.upper)
    throw usage_error("the pruner 'threshold' has no bound", "--pruner-lower X, --pruner-upper X");
  return settings;
}

}  // namespace nadi::inline show
