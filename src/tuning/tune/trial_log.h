// The log of a trial: what was run, with which variables set, what it printed, and how it ended.
//
//   TrialLog log("study.trials/00007.log");
//   log.begin(command, place, repetitions);
//   log.line("loss: 3.2");
//   log.end("");
//
// Lines of ours begin with '#'. A log is appended to: a trial that is run again keeps what was there.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "nadi/tune/trial_command.h"

namespace nadi::inline tuning {

class TrialLog {
 public:
  // Makes missing folders. "": nothing is written. Error (environment) when it cannot be opened.
  explicit TrialLog(const std::filesystem::path& path);

  void begin(const TrialCommand& command, const TrialPlace& place, std::int64_t repetitions);
  void line(std::string_view text);
  void flush();  // now and then: whoever follows the log of a long trial sees its lines
  void note(std::string_view text);
  // Error (environment) when something could not be written: a full disk.
  void end(std::string_view reason);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace nadi::inline tuning
