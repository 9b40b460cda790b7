// The processes that a process has started, and those they started, from /proc.
//
// A process whose parent has ended is handed to the next ancestor that adopts orphans:
//
//   const Adoption adoption;                       // from here on that is us
//   ... start something ...
//   end_descendants(everything, patience);         // nothing of it is left, whatever it did to hide
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline ground {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  bool ended = false;           // a zombie: its parent has not asked how it ended
  unsigned long long born = 0;  // ticks since the machine started; with the pid it names a process for good
  std::string name = {};        // of its program, at most 15 characters
};

// Nothing when there is no such process.
std::optional<ProcessInfo> process_info(pid_t pid);

// All below `root`, which is not among them; in the order of pids.
std::vector<ProcessInfo> descendants_of(pid_t root);

// `pid`, its parent, and so on: up to `root`, which is not among them. Empty where `pid` is not below `root`.
std::vector<ProcessInfo> path_to(pid_t root, pid_t pid);

// Whether a process was started with "NAME=value" in its environment. False when we may not know.
bool started_with(pid_t pid, std::string_view variable);
// The value of a variable that it was started with; nothing where there is none, or we may not know.
std::optional<std::string> started_with_value(pid_t pid, std::string_view name);

// Whether a process counts processes as we do: one in a container has other numbers for the same ones.
bool shares_process_numbers(pid_t pid);

// While it lives, orphans below this process become its children.
class Adoption {
 public:
  Adoption();
  ~Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

 private:
  int before_ = 0;
};

// Kills the processes below this one that `ours` accepts, again and again until none is left, and forgets
// those that are our own children. A process that starts another while we look is found in the next round,
// which comes at once; one in a session that is not ours is killed with its process group, in which nothing
// can be born meanwhile. Returns how many are left after `patience`: 0 but for processes that hang
// in the kernel. Descendants that `ours` does not accept are left alone. A ChildProcess that should still
// tell how it ended must have told before.
std::size_t end_descendants(const std::function<bool(const ProcessInfo&)>& ours,
                            std::chrono::milliseconds patience);

// The same for processes anywhere on this machine, one by one: for those whose ancestors are gone.
std::size_t end_processes(const std::function<bool(const ProcessInfo&)>& ours,
                          std::chrono::milliseconds patience);

}  // namespace nadi::inline ground
