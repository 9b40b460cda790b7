#include "nadi/launched/rank_end.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "nadi/base/format.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

using std::chrono::milliseconds;

constexpr int kHungExitCode = 1;

// Standard error may be the pipe that is full: it gets a moment.
void say_at_once(const std::string& text) {
  constexpr int kPatienceMs = 1000;
  for (std::size_t at = 0; at < text.size();) {
    pollfd entry{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&entry, 1, kPatienceMs) <= 0 || (entry.revents & POLLOUT) == 0) return;
    // As much as a pipe that can be written to takes for certain.
    constexpr std::size_t kAtOnce = 512;
    const ssize_t written = write(STDERR_FILENO, text.data() + at, std::min(kAtOnce, text.size() - at));
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

std::string whole_seconds_text(milliseconds time) {
  return format("{} s", (time.count() + 500) / 1000);
}

}  // namespace

RankWatchOptions rank_watch(milliseconds timeout, const Console& console) {
  RankWatchOptions options{.timeout = timeout};
  options.under_mpirun = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;  // MPI itself may set it later
  const Interruption* const interruption = console.interruption;
  options.stop_asked = [interruption] {
    return interruption != nullptr && interruption->wish() != EndWish::kNone;
  };
  options.end = [interruption](const RankWatchOptions::End& end) {
    std::string text;
    if (end.stopped)
      text = "error: asked to end, and nothing gets on: ended at once\n";
    else
      text = format("error: no rank has made progress for {}: the ranks were ended\n",
                    whole_seconds_text(end.report->idle));
    for (const std::string& line : end.report->lines) text += "  " + line + "\n";
    if (!end.report->file.empty())
      text += format("  the last collectives of every rank: {}\n", end.report->file.string());
    if (!end.report->file_problem.empty())
      text += format("  the last collectives were not written: {}\n", end.report->file_problem);
    if (!end.stopped) text += format("  hint: {}\n", comm_timeout_hint());
    if (end.tells) say_at_once(text);
    _exit(end.stopped && interruption != nullptr ? interruption->exit_code() : kHungExitCode);
  };
  return options;
}

void end_for_stuck_output(milliseconds timeout, bool stopped) {
  if (stopped) {
    say_at_once("error: asked to end, and nobody reads what the ranks print: ended at once\n");
    _exit(kInterruptedExitCode);
  }
  say_at_once(
      format("error: nobody has read standard output or standard error for {}: the ranks were ended\n  hint: "
             "write to a file, or let the reader read; {}\n",
             whole_seconds_text(timeout), comm_timeout_hint()));
  _exit(kHungExitCode);
}

std::string_view comm_timeout_hint() {
  return "--comm-timeout 30min waits longer, --comm-timeout 0 for ever";
}

}  // namespace nadi::inline show
