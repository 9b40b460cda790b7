// All that a study of ours needs to go on: the space, the command, the metrics, sampler, pruner and limits.
// It is kept in the study itself, as the user attribute "nadi_tune", so that resuming takes nothing but the
// file.
//
//   const StudyAttributes kept{{std::string(kTuneAttribute), tune_study_json(tune)}};
//   storage.set_study_attributes(id, AttributeOwner::kUser, kept);
//   const TuneStudy again = tune_study_of(storage.study(id), "study.db");
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/sampling/pruner.h"
#include "nadi/sampling/sampler.h"
#include "nadi/study/trial.h"
#include "nadi/tune/trial_run.h"
#include "nadi/tune/tune_space.h"

namespace nadi::inline tuning {

inline constexpr std::string_view kTuneAttribute = "nadi_tune";

// What the planner is asked (plan_guide.h), as the user named it; "" and 0 where not given.
struct PlannedRun {
  std::string model;
  std::string cluster;
  std::string plan_file;
  std::int64_t gpus = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t seq_length = 0;
  std::string dtype;
  // For a plan's file alone.
  bool fp8 = false;
  std::string attention = {};
  std::string optimizer = {};

  bool any() const { return !cluster.empty() || !plan_file.empty(); }
};

struct TuneStudy {
  TuneSpace space;
  TrialSettings trial;  // command, metrics, limits, repetitions
  SamplerSettings sampler;
  PrunerSettings pruner;
  std::int64_t trials = 50;  // of the study as a whole
  bool baseline = false;     // the first trial has the defaults of the space
  PlannedRun planned = {};
  std::string working_folder;  // in which commands run and relative paths are meant
};

std::string tune_study_json(const TuneStudy& tune);
// Error (input) for a study that is not ours, or of another version.
TuneStudy tune_study_of(const Study& study, const std::string& file);

std::vector<StudyDirection> directions_of(const TuneStudy& tune);

inline constexpr std::string_view kDefaultStudyName = "tune";

// Where logs and folders of trials are, beside the file: study.trials for study.db, and study.NAME.trials for
// a study whose name is not the default, since a file may have several. Absolute.
std::filesystem::path trials_folder_of(const std::filesystem::path& file, std::string_view study);
// In it, the folder of one trial; its log has the same name and ends in .log.
std::string trial_folder_name(std::int64_t number);

// User attributes of trials.
inline constexpr std::string_view kOutcome = "outcome";          // to_string(TrialEnd)
inline constexpr std::string_view kSeconds = "seconds";          // of all repetitions
inline constexpr std::string_view kLogFile = "log";              // path
inline constexpr std::string_view kRole = "role";                // "baseline", "plan"
inline constexpr std::string_view kFromTrial = "from_trial";     // number of the trial whose values these are
inline constexpr std::string_view kRepetitions = "repetitions";  // list of values of the first metric
inline constexpr std::string_view kNoise = "noise";              // relative standard deviation
inline constexpr std::string_view kPredictedSeconds = "predicted_seconds";  // of a step, by the planner
inline constexpr std::string_view kGpuMemory = "gpu_memory_mib";

// The text of an attribute that is a JSON string, and the number of one that is a number.
std::optional<std::string> text_attribute(const StudyTrial& trial, std::string_view name);
std::optional<double> number_attribute(const StudyTrial& trial, std::string_view name);
std::string attribute_text(std::string_view text);

}  // namespace nadi::inline tuning
