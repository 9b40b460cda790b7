// Runs a command on many ranks with mpirun, passes on what they print, and ends all of them when one fails.
//
//   LaunchRequest request = request_for_self(8, {"train", "gpt2"});
//   const LaunchResult result = launch(request, listener, [&] { return interrupted; });
//   if (result.failure) ...                   // names the rank
//
// mpirun does not start the command itself but, per rank, a supervisor (rank_supervisor.h), which starts it,
// reads what it prints and sees how it ends. Supervisors talk to launch() over a connection of their own: so
// the failed rank is known for certain, lines are never torn, and ranks on other hosts can be ended, too.
// When the process of launch() dies, the connections close and the supervisors end their ranks.
//
// A job that hangs is ended: when no rank has got on for comm_timeout (hang_watch.h), when the output is not
// taken for so long, and, within seconds, when it was to stop and does not get on.
//
// While a job runs, the calling process adopts the job's orphans; when launch() returns, or throws, nothing
// that it has started is left. It never ends a process that is not of this job. One job at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/launch/hang_watch.h"
#include "nadi/process/child_process.h"

namespace nadi::inline jobs {

class LaunchMeeting;

// How long each step of ending a job may take. After a failure all processes have ended after blame +
// terminate + kill + leave at the latest. Ranks that the user stops finish their step and save, which may
// take long with a large model; the user can always end them at once.
struct LaunchPatience {
  std::chrono::milliseconds blame{300};         // for reports that were overtaken: see rank_board.h
  std::chrono::milliseconds terminate{5000};    // between SIGTERM and SIGKILL after a failure
  std::chrono::milliseconds interrupt{600000};  // between them when the user wanted to stop: ranks save
  std::chrono::milliseconds straggle{30000};    // and for the others when the first of them has ended
  std::chrono::milliseconds kill{2000};         // for ranks to be gone after SIGKILL
  std::chrono::milliseconds leave{5000};        // for mpirun to end once its ranks have
};

struct LaunchRequest {
  int ranks = 1;
  std::vector<std::string> command = {};     // what every rank runs: a path and its arguments
  std::vector<std::string> supervisor = {};  // what runs supervise_rank() with the words that follow
  std::string hosts = {};                    // "a:2,b:2", as mpirun takes them; empty means this host
  std::filesystem::path hostfile = {};       // or a file of them
  LaunchMeeting* nodes = nullptr;            // or the launches on other machines that have met with this one
  Environment environment = {};              // added to that of every rank
  LaunchPatience patience = {};
  std::chrono::milliseconds comm_timeout{0};       // without progress of any rank; 0 means for ever
  std::filesystem::path collectives_folder = ".";  // where the requests of ranks that hang are written
  // Called on another thread when the listener has not come back for comm_timeout, or for seconds after a
  // stop (`stopped`): somebody does not take the output. All processes of the job have been killed. It has to
  // end the process, since nothing else can.
  std::function<void(bool stopped)> output_stuck = {};
};

// `nadi <words>` on `ranks` ranks, by this same program, whose main() knows kSupervisorWord.
LaunchRequest request_for_self(int ranks, const std::vector<std::string>& words);

enum class OutputKind { kOut, kErr };

// Called from within launch(). An exception ends the job and leaves launch().
class LaunchListener {
 public:
  virtual ~LaunchListener() = default;
  // A whole line, without its end.
  virtual void rank_printed(int rank, OutputKind kind, std::string_view line) = 0;
  virtual void mpirun_printed(std::string_view line) = 0;
  // All that has arrived was handed over: a moment to flush.
  virtual void caught_up() {}
};

struct LaunchFailure {
  std::optional<int> rank = {};          // nothing means the job failed and no rank did
  std::string host = {};                 // the rank's, where there are several
  std::optional<EndStatus> status = {};  // of the rank, or of mpirun; nothing means lost
  std::optional<HangReport> hang = {};   // nobody got on, and all were killed
  std::string lost_node = {};            // "node 1 on b": its launch is gone, and nothing is known of ranks
  bool out_of_memory = false;            // the kernel ended the rank because memory ran out
  std::vector<std::string> last_lines = {};  // of the rank's standard error

  // "rank 3 failed with exit code 4", "rank 3 on b was ended by signal 9 (Killed)", "rank 3 was killed
  // because memory ran out: signal 9 (Killed)": with the host where there are several.
  std::string to_string() const;

  // Whether starting again may help: a lost connection or a full disk may be gone the next time. A mistake in
  // the input (exit codes 2, 3 and 5) would only be made again.
  bool may_go_away() const;
};

struct LaunchResult {
  bool stopped = false;                         // because stop_asked() said so
  std::optional<HangReport> hung_at_stop = {};  // the ranks did not get on then, and were killed
  std::optional<LaunchFailure> failure = {};    // the first

  // What the launching program should end with: 0; 130 when it was stopped; the failed rank's exit code, or
  // where it has none 4 when memory ran out and else 1.
  int exit_code() const;
};

// `stop_asked` is called often, and when it first says true the ranks get SIGTERM.
//
// Error (environment) when there is no mpirun; Error (usage) when this process is itself a rank of a job.
LaunchResult launch(const LaunchRequest& request, LaunchListener& listener,
                    const std::function<bool()>& stop_asked);

}  // namespace nadi::inline jobs
