// Where a command prints and what it may use there. main() makes one for the terminal, tests make one of two
// string streams.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "nadi/terminal/interruption.h"
#include "nadi/terminal/log_level.h"

namespace nadi::inline show {

// Thrown where a command notices that the user pressed Ctrl-C, so that half-written files are removed on the
// way out. Ends in exit code 130, or that of Interruption::exit_code().
struct Interrupted {};

// Thrown where a command has itself said what failed; ends in this exit code.
struct SaidFailure {
  int exit_code = 1;
};

struct Console {
  std::ostream& out;  // results
  std::ostream& err;  // errors; other messages go through debug(), info() and warnings()
  bool colour_out = false;
  bool colour_err = false;
  // Somebody watches, on a terminal with escape codes: progress may be shown.
  bool terminal_err = false;
  LogLevel level = LogLevel::kInfo;      // of what is said on `err`: LOGLEVEL
  Interruption* interruption = nullptr;  // nullptr where nobody listens

  // `err`, or a stream that drops what is written to it, where the user wants to hear less.
  std::ostream& debug() const { return at(LogLevel::kDebug); }
  std::ostream& info() const { return at(LogLevel::kInfo); }  // notes, where files went, speeds
  std::ostream& warnings() const { return at(LogLevel::kWarning); }

  bool interrupted() const { return interruption != nullptr && interruption->asked(); }
  // To be called now and then by loops over what may be long.
  void check_interrupted() const {
    if (interrupted()) throw Interrupted{};
  }

  std::string heading(std::string_view text) const {
    return colour_out ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
  }

 private:
  std::ostream& at(LogLevel kind) const;
};

}  // namespace nadi::inline show
