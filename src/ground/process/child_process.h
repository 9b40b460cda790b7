// A program that runs beside this one, with its output in two pipes.
//
//   ChildProcess child({.words = {"/usr/bin/mpirun", "-n", "4", ...}});
//   while (!child.poll_end()) { child.out().read(...); child.err().read(...); }
//
// The child has nothing to read, begins with no signals blocked, and dies with us. A program that cannot be
// executed says so in its standard error and ends with exit code 127. The destructor kills a child that still
// runs; what the child started itself is for process_tree.h, or for a keeper.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/process/descriptor.h"
#include "nadi/process/end_status.h"
#include "nadi/process/line_stream.h"

namespace nadi::inline ground {

using Environment = std::vector<std::pair<std::string, std::string>>;

inline constexpr int kReportDescriptor = 3;

struct ChildOptions {
  std::vector<std::string> words;  // the program's path, and its arguments
  Environment environment = {};    // added to that of this process
  bool new_session = false;        // of its own; else only a process group of its own
  int death_signal = 9;            // what it gets when we die: SIGKILL
  bool with_report = false;        // it has a third pipe to us, its descriptor kReportDescriptor
  // Not "": a keeper (process_keeper.h) with a control group of this name ends all that the child starts,
  // when that has ended, when end_all() asks for it, and when we die; pid() is the keeper's.
  std::string kept = {};
};

class ChildProcess {
 public:
  // Error (environment) when the system has no room for another process.
  explicit ChildProcess(const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  LineStream& out() { return out_; }
  LineStream& err() { return err_; }
  LineStream& report() { return report_; }  // closed without ChildOptions::with_report

  // How it ended; nothing while it runs.
  const std::optional<EndStatus>& poll_end();
  // When it has ended: the number of the system's error where the program could not be executed, else 0.
  int start_problem();
  // Nothing happens when it has ended. Of a kept child: SIGTERM, SIGINT or SIGHUP, for its process group.
  void send_signal(int signal);
  // SIGKILL: for a kept child and all that it has started; others, for the child.
  void end_all();

 private:
  pid_t pid_ = -1;
  bool kept_ = false;
  LineStream out_;
  LineStream err_;
  LineStream report_;
  Descriptor problem_;  // closed by execve(), or what it says
  std::optional<EndStatus> end_;
};

}  // namespace nadi::inline ground
