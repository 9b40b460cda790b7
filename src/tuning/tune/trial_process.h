// Runs the command of a trial: a process group of its own, its output line by line, and an end for all that
// it started.
//
//   const Adoption adoption;                                // once in the program: orphans come to us
//   (process_tree.h) const ProcessEnd end = run_trial_process(command, {.timeout = 10min}, {.on_line = ...,
//   .stop = ...});
//
// The process begins a session of its own, under a keeper (job/process_keeper.h). To end it, its group gets
// SIGTERM, and after `grace` all that it started gets SIGKILL, as does what it leaves behind at its end and
// what there is of it when this process dies. All of it has the variable NADI_TRIAL in its environment, which
// names this process: "4711-567890.3" is trial 3 of process 4711 that began at 567890.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nadi/process/end_status.h"
#include "nadi/tune/gpu_watch.h"
#include "nadi/tune/trial_command.h"

namespace nadi::inline tuning {

enum class StopKind : std::uint8_t {
  kPruned,       // its values are hopeless
  kTimedOut,     // it took longer than a trial may
  kLimit,        // it went beyond a limit of the GPUs
  kInterrupted,  // the user ends the study
};

struct StopRequest {
  StopKind kind;
  std::string reason;
};

struct ProcessLimits {
  std::optional<std::chrono::milliseconds> timeout = {};
  std::chrono::milliseconds grace{5000};  // between SIGTERM and SIGKILL
  GpuLimits gpu = {};
};

struct ProcessHooks {
  std::function<void(std::string_view line, bool is_error)> on_line = {};
  // Asked every few milliseconds, after lines were handed over.
  std::function<std::optional<StopRequest>()> stop = {};
};

struct ProcessEnd {
  EndStatus status = {};
  double seconds = 0;
  std::optional<StopRequest> stopped = {};  // by us, and why
  bool killed = false;                      // SIGTERM was not enough
  std::size_t left_behind = 0;              // processes that could not be ended
  std::string not_started = {};             // why the program could not be executed
  std::optional<double> peak_gpu_memory_mib = {};
};

// Error (environment) when the program of the command is not there: no trial could start. A program whose
// name has a placeholder is not looked for.
void require_program(const CommandTemplate& command);

// Error (environment) when there is no such program or no room for a process.
ProcessEnd run_trial_process(const TrialCommand& command, const ProcessLimits& limits,
                             const ProcessHooks& hooks);

// Ends what is left on this machine of trials whose tuner is gone, of any study: where a tuner and the
// keepers of its trials were killed at the same time. Returns how many processes there were.
std::size_t end_orphaned_trials();

// Why a process that ended by itself did not do what it should: nothing for exit code 0. `last_lines`: of its
// output.
struct FailureReason {
  std::string reason;
  bool out_of_memory = false;
};
std::optional<FailureReason> failure_of(const EndStatus& status, const std::vector<std::string>& last_lines);

}  // namespace nadi::inline tuning
