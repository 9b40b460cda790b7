// How a process ended: by itself, with an exit code, or by a signal.
#pragma once

#include <string>

namespace nadi::inline ground {

struct EndStatus {
  int exit_code = 0;
  int signal = 0;  // 0 means it ended by itself

  static EndStatus from_wait(int status);  // of waitpid(), for a process that has ended

  bool good() const { return exit_code == 0 && signal == 0; }
  std::string to_string() const;  // "exit code 3", "signal 9 (Killed)"

  bool operator==(const EndStatus&) const = default;
};

}  // namespace nadi::inline ground
