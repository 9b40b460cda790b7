// Where a command prints and what it may use there. main() makes one for the terminal, tests make one of two
// string streams.
#pragma once

#include <csignal>
#include <iosfwd>
#include <string>
#include <string_view>

namespace nadi {

// Thrown where a command notices that the user pressed Ctrl-C, so that half-written files are removed on the
// way out. Ends in exit code 130.
struct Interrupted {};

// Thrown where a command has itself said what failed; ends in this exit code.
struct SaidFailure {
  int exit_code = 1;
};

struct Console {
  std::ostream& out;  // results
  std::ostream& err;  // messages
  bool colour_out = false;
  bool colour_err = false;
  bool terminal_err = false;  // somebody watches: progress may be shown
  // Set by a signal handler; nullptr where nobody listens.
  const volatile std::sig_atomic_t* interrupted = nullptr;

  // To be called now and then by loops over what may be long.
  void check_interrupted() const {
    if (interrupted != nullptr && *interrupted != 0) throw Interrupted{};
  }

  std::string heading(std::string_view text) const {
    return colour_out ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
  }
};

}  // namespace nadi
