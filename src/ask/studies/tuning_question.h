// Which settings of a command are best: what `nadi tune` is asked.
//
//   const TuneStudy study = resolve({.command = {.words = {"train.sh", "--lr", "{{lr}}"}},
//                                    .parameters = {parameter_of_text("lr=1e-5..1e-2:log")}});
//   Tuner(study, options).run(listener);                                     // tune/tuner.h
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/studies/planned_partition.h"
#include "nadi/tune/metric.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline ask {

inline constexpr std::int64_t kDefaultTrials = 50;

struct TuningQuestion {
  CommandTemplate command = {};
  std::vector<std::string> templates = {};  // files that are copied into the folder of each trial, filled in

  // The space: presets, then files, then parameters; then constants, constraints, and values of the baseline.
  std::vector<std::string> presets = {}, spaces = {};
  std::vector<TuneParameter> parameters = {};
  std::vector<std::pair<std::string, ParameterValue>> constants = {}, defaults = {};
  std::vector<TuneConstraint> constraints = {};

  // The figures; none means how long the command runs. Which way each is better: by name, and of all others.
  std::vector<MetricSpec> metrics = {};
  std::vector<std::pair<std::string, StudyDirection>> directions = {};
  std::optional<StudyDirection> direction = {};
  std::optional<MetricReduction> reduction = {};  // of metrics that are read from the output
  std::int64_t warmup = 0;                        // their figures at the start of a trial that do not count

  ProcessLimits limits = {};
  std::int64_t repeat = 1;
  SamplerSettings sampler = {};
  PrunerSettings pruner = {};
  std::optional<std::int64_t> trials = {};  // else kDefaultTrials
  PlannedRun planned = {};                  // what the planner is asked; a plan's file says the rest
  PartitionWords partition_words = {};      // how the command is told of layers that are spread unevenly
};

// Error (usage) for what contradicts itself, and for numbers beyond sense; (input) for files.
TuneStudy resolve(const TuningQuestion& question);

// Error (usage) for more than a million.
void check_trials(std::int64_t trials);

}  // namespace nadi::inline ask
