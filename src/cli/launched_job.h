// A job of several ranks, as commands start it: `nadi launch`, and whatever takes a number of ranks itself.
//
//   run_job({.ranks = 8, .words = {"train", "gpt2"}}, console);
//
// What rank 3 prints appears as "[3] ..." on the stream on which it was printed, line by line. When a rank
// fails that is said, with its last lines unless they were just shown, and the job is started again as often
// as max_restarts allows; `train` then continues from its newest checkpoint. A mistake in the input would
// only be made again: after exit codes 2, 3 and 5 nothing is restarted.
//
// Throws Interrupted after Ctrl-C, when the ranks have saved and ended; SaidFailure with the rank's exit code
// after a failure, and with 1 when training was stopped because nobody reads standard output any more; Error
// where nothing could be started.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/job/launch.h"

namespace nadi {

struct Console;

struct JobOptions {
  int ranks = 1;
  std::vector<std::string> words;       // of this same program, without its name
  std::string hosts = {};               // "a:2,b:2"
  std::filesystem::path hostfile = {};  // or a file of them
  Environment environment = {};         // for the ranks
  int max_restarts = 0;
  bool prefix = true;  // "[3] " before each line
  bool json = false;   // the command prints JSON: only rank 0's standard output is shown, as it is
};

void run_job(const JobOptions& options, Console& console);

// The words of a job that is started again: with --resume where training saves anything, else as they are.
std::vector<std::string> words_to_resume(const std::vector<std::string>& words);

}  // namespace nadi
