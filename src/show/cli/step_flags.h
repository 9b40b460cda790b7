// The flags of a step, shared by `show`, `trace`, `simulate` and `plan`, and the question that they ask
// (step/step_question.h), where every default is decided.
#pragma once

#include <string_view>
#include <vector>

#include "nadi/step/step_question.h"

namespace nadi::inline show {

class Flags;
struct Console;

void add_step_flags(Flags& flags);

// Error (usage) for flags that contradict each other or make no sense with the kind of step.
StepQuestion step_question(const Flags& flags);

// The same for a training step whose split over ranks is not decided by flags: without --step, degrees,
// micro-batches and recomputation. The batch is that of all ranks.
void add_unsplit_step_flags(Flags& flags);
StepQuestion unsplit_step_question(const Flags& flags);

// What its user may not expect, on console.err: keys of the model's configuration that Nadi does not use, and the notes
// of the step.
void note_step(const ResolvedStep& step, Console& console);
void name_ignored_keys(const ModelConfig& config, Console& console);

// The flags of a step that were given, for commands that may get something else than a model.
std::vector<std::string_view> given_step_flags(const Flags& flags);

}  // namespace nadi::inline show
