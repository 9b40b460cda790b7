// The flags of `nadi tune`, and the study that they ask for.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "nadi/plan/plan_question.h"
#include "nadi/tune/plan_guide.h"
#include "nadi/tune/tune_study.h"
#include "nadi/tune/tuner.h"

namespace nadi {

class Flags;
struct Console;

void add_tune_flags(Flags& flags);

// Error (usage) for what makes no sense; (input) for files.
TuneStudy resolve_tune(const Flags& flags, Console& console);

// What `tune` and `tune resume` share: --workers, --trials, --time-limit, --max-failures, --no-logs, --json.
void add_tuning_flags(Flags& flags);
TunerOptions resolve_tuner(const Flags& flags, const std::filesystem::path& storage, const std::string& study,
                           Console& console);

// --name of the commands that read a study.
void add_study_name_flag(Flags& flags);

// The planner for a space of plans; nothing when the study asks for none. The space must stay where it is.
class TunePlanner {
 public:
  TunePlanner(const TuneStudy& tune, Console& console);
  const PlanGuide* guide() const { return guide_ ? &*guide_ : nullptr; }

 private:
  std::optional<PlanQuestion> question_;
  std::optional<SpacePoints> points_;
  std::optional<PlanGuide> guide_;
};

}  // namespace nadi
