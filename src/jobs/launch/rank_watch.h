// Watches this rank from a thread of its own, and with it the job: MPI may wait for ever, and nothing that
// is called in there ever comes back, so that only another thread can see it and end the process.
//
//   CommRecord record;
//   RankWatch watch({.timeout = 10min, .end = ...}, record);
//   watch.doing("step 12 of 100");
//
// The rank gets on when requests are done, or when it computes, reads or writes outside of them
// (progress_meter.h): loading, saving, evaluating and waiting for a batch are work like any other. Who
// decides that the ranks hang depends on who started them:
//
//   nadi launch          the launcher: beats go to the rank's supervisor, through the descriptor that
//                        kBeatsVariable names (launch.h)
//   srun, mpirun         each rank, by the beats that the others leave in a folder: that which
//                        kBeatFolderVariable names (a job's), one of this machine, or `shared_folder`
//   nobody               this process, which is alone
//
// Ranks on several machines without such a folder hear nothing of each other: then a rank ends when it has
// waited for the timeout, whatever the others do.
//
// After SIGTERM (stop_asked) a rank has to get on, or it is ended within kStopPatience: who saves may take
// its time, who hangs may not.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "nadi/launch/hang_watch.h"

namespace nadi::inline engines {
class CommRecord;
}  // namespace nadi::inline engines

namespace nadi::inline jobs {

inline constexpr std::chrono::milliseconds kDefaultCommTimeout{600'000};
// Ranks that do not get on after they were asked to end.
inline constexpr std::chrono::milliseconds kStopPatience{4000};

// The descriptor for beats, of a rank that a supervisor started.
inline constexpr const char* kBeatsVariable = "NADI_BEATS";
// The folder for beats, of ranks that srun starts.
inline constexpr const char* kBeatFolderVariable = "NADI_BEAT_FOLDER";
// In milliseconds, for ranks whose command line says nothing.
inline constexpr const char* kCommTimeoutVariable = "NADI_COMM_TIMEOUT_MS";

struct RankWatchOptions {
  std::chrono::milliseconds timeout = kDefaultCommTimeout;  // 0 means never
  std::filesystem::path collectives_folder = ".";           // where collectives.json goes
  std::filesystem::path shared_folder = {};                 // that all ranks see; "": none is known
  bool under_mpirun = false;  // it ends all ranks when one fails, also those that are stopped
  // Somebody wants the process to end.
  std::function<bool()> stop_asked = [] { return false; };
  // Called once, on the thread of the watch: says what happened, where `tells` is set, and ends the process.
  // Must not come back.
  struct End {
    const HangReport* report = nullptr;
    bool tells = false;    // this rank speaks for all
    bool stopped = false;  // it was asked to end, and hung
  };
  std::function<void(const End&)> end = {};
};

class RankWatch {
 public:
  // `end` is set. Starts the thread.
  RankWatch(RankWatchOptions options, const CommRecord& record);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // What the rank does, for messages: "step 12 of 100". Any thread.
  void doing(std::string text);

 private:
  class Channel;
  class Launcher;
  class Peers;
  void run();

  const RankWatchOptions options_;
  const CommRecord& record_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool leaving_ = false;
  std::string doing_;
  std::thread thread_;
};

}  // namespace nadi::inline jobs
