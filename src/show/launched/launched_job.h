// A job of several ranks, as commands start it: `nadi launch`, and commands with a number of ranks of their
// own.
//
//   run_job({.ranks = 8, .words = {"train", "gpt2"}}, console);
//
// The output of rank 3 appears as "[3] ..." on the stream on which the rank printed it
// (report/rank_output.h). When a rank fails, the job is started again as often as max_restarts allows;
// `train` then continues from its newest checkpoint. A mistake in the input is not worth a restart: see
// LaunchFailure::may_go_away().
//
// Throws Interrupted after Ctrl-C, when the ranks have saved and ended; SaidFailure with the rank's exit code
// after a failure, and with 1 when training was stopped because nobody reads standard output any more; Error
// where nothing could be started.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "nadi/launch/launch.h"

namespace nadi::inline show {

struct Console;

struct JobOptions {
  int ranks = 1;
  std::vector<std::string> words;       // of this same program, without its name
  std::string hosts = {};               // "a:2,b:2"
  std::filesystem::path hostfile = {};  // or a file of them
  LaunchMeeting* nodes = nullptr;       // or launches on other machines: see launch_nodes.h
  Environment environment = {};         // for the ranks
  int max_restarts = 0;
  bool prefix = true;  // "[3] " before each line
  bool json = false;   // the command prints JSON: only rank 0's standard output is shown, as it is
  std::chrono::milliseconds comm_timeout{0};       // without progress; 0 means for ever
  std::filesystem::path collectives_folder = ".";  // see LaunchRequest
};

void run_job(const JobOptions& options, Console& console);

}  // namespace nadi::inline show
