// The flags that `show`, `trace` and whoever else builds a step have in common, and how they become a model
// configuration, a StepRequest and a Plan. Every default is decided here, once, and is part of the result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/step_program.h"

namespace nadi {

class Flags;
struct Console;

// One decided thing: what the user gave, or the default.
struct Setting {
  std::string_view key;   // in JSON and in the metadata of traces: "batch_size"
  std::string_view flag;  // that sets it: "--batch-size"; "" for what follows from others
  Json value;             // null where it does not apply to the kind of step
  bool given = false;
};

struct ResolvedStep {
  ModelConfig config;
  StepRequest request;
  Plan plan;
  // The same keys in the same order for every step.
  std::vector<Setting> settings;
  std::vector<Setting> plan_settings;
};

// Adds MODEL and the flags of a step.
void add_step_flags(Flags& flags);

// Reads the model named on the command line and decides everything. Error (usage) for flags that contradict
// each other or make no sense with the kind of step, and what load_model_config() throws. Keys of the
// model's configuration that Nadi does not use are named on console.err.
ResolvedStep resolve_step(const Flags& flags, Console& console);

// The flags of a step that were given, for commands that may get something else than a model.
std::vector<std::string_view> given_step_flags(const Flags& flags);

}  // namespace nadi
