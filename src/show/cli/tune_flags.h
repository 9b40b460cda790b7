// The flags of `nadi tune`, and the study that they ask for.
#pragma once

#include <filesystem>
#include <string>

#include "nadi/tune/tune_study.h"
#include "nadi/tune/tuner.h"

namespace nadi::inline show {

class Flags;
struct Console;

void add_tune_flags(Flags& flags);

// Error (usage) for flags that contradict each other; (input) for files.
TuneStudy resolve_tune(const Flags& flags);

// What `tune` and `tune resume` share: --workers, --trials, --time-limit, --max-failures, --no-logs, --json.
// Without --trials there are as many as `trials_fallback` says.
void add_tuning_flags(Flags& flags, std::string trials_fallback);
TunerOptions resolve_tuner(const Flags& flags, const std::filesystem::path& storage, const std::string& study,
                           Console& console);

// --name of the commands that read a study.
void add_study_name_flag(Flags& flags);

}  // namespace nadi::inline show
