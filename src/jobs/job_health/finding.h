// What a rule found out about a job, with the evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline jobs {

enum class HealthRule : std::uint8_t {
  kNotRunning,    // by the scheduler's account, or nodes that wrote nothing
  kIdleGpus,      // it runs, and nothing happens on the GPUs
  kErrors,        // on stderr, that are not warnings
  kSettings,      // in effect differ from those asked for
  kNoProgress,    // no iteration for many times the usual one
  kLoss,          // not a number
  kPace,          // iterations take another time than they did before
  kSlowNode,      // slower than nodes that do the same work
  kThrottledGpu,  // lower clocks for heat or power supply
  kHotGpu,        // close to where clocks go down
  kMemoryFull,    // of a GPU or of the host, nearly
  kMemoryGrows,   // of a GPU or of the host, all the time
  kRequeued,      // started more than once
};
std::string_view to_string(HealthRule rule);  // "not-running", "idle-gpus", ...

enum class HealthSeverity : std::uint8_t {
  kNote,     // worth knowing
  kWarning,  // probably not as it should be; the job goes on
  kProblem,  // the job does not do what it was started for
};
std::string_view to_string(HealthSeverity severity);  // "note", "warning", "problem"

struct HealthEvidence {
  std::string place = {};  // "n061.err:12", "job.json", "slurm"; "" for a computed value
  std::string text = {};   // the line or the values
};

struct HealthFinding {
  HealthRule rule = HealthRule::kNotRunning;
  HealthSeverity severity = HealthSeverity::kNote;
  std::string text = {};                      // one line
  std::vector<HealthEvidence> evidence = {};  // never empty
  std::vector<std::string> nodes = {};        // that it is about; empty means the job
};

}  // namespace nadi::inline jobs
