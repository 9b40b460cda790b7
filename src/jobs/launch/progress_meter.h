// Whether this process gets on with its work: whether it has computed, read or written something lately. A
// rank that is stopped, or stands in a call that does not return, has not.
//
//   ProgressMeter meter;
//   ... a second later ...
//   if (meter.moved()) ...                 // since the last call
//   meter.blocked_in()                     // "writes to standard output", "reads /data/squad.bin", ""
//
// Threads that only look (kWatchThread, kMpiThread, those of NCCL) do not count: they run however long the work stands. Who
// waits for a message computes, too, since MPI looks for it again and again: callers do not ask then.
//
// A look costs about 20 us and 10 us more for each thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nadi::inline jobs {

// Names of threads, at most 15 letters as the kernel keeps them.
inline constexpr const char* kWatchThread = "nadi-watch";
inline constexpr const char* kMpiThread = "mpi-progress";  // comm/mpi_progress.cpp
inline constexpr const char* kNcclThreads = "NCCL ";       // how their names begin: cuda/nccl_library.cpp

class ProgressMeter {
 public:
  ProgressMeter();

  // For a process that is watched from inside, by its thread kWatchThread.
  bool moved();
  // What the first thread stands in, in the words of a message; "" when it runs, or nobody may know.
  std::string blocked_in() const;
  bool held() const;  // the first thread, by a debugger
  // The first thread waits for a disk, or a file system on the network, in the kernel.
  bool at_disk() const;

 private:
  struct Work {
    std::chrono::nanoseconds computed{0};
    std::uint64_t moved_bytes = 0;
  };
  static Work work_so_far();

  std::chrono::steady_clock::time_point looked_;
  Work before_;
};

// What another process has computed so far; 0 when it is gone.
std::chrono::nanoseconds computed_by(int pid);
// 'R' running, 'S' waiting, 'D' waiting for a disk, 'T' stopped by a signal, 't' by a debugger, 'Z' ended;
// 0 when there is no such process.
char process_state(int pid);

}  // namespace nadi::inline jobs
