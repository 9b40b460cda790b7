#include "nadi/process/program_run.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 30;
constexpr int kMostWaitMs = 100;

void read_into(LineStream& stream, std::string& text) {
  stream.read([&](std::string_view line) {
    text += line;
    text += '\n';
  });
}

}  // namespace

ProgramRun run_program(const ChildOptions& options, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + patience;
  ProgramRun run;
  ChildProcess child(options);
  // A program that has started others ends before they close its output: what it printed is there by then.
  int wait_ms = 1;
  for (bool ended = false; !ended;) {
    ended = child.poll_end().has_value();
    if (!ended) {
      std::array<pollfd, 2> entries{{{.fd = child.out().descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = child.err().descriptor(), .events = POLLIN, .revents = 0}}};
      poll(entries.data(), entries.size(), wait_ms);
      // With both closed, poll() only waits.
      wait_ms = std::min(wait_ms * 2, kMostWaitMs);
    }
    read_into(child.out(), run.out);
    read_into(child.err(), run.err);
    if (run.out.size() + run.err.size() > kMostOutput)
      throw environment_error(format("{} printed more than 1 GiB", options.words.front()));
    if (!ended && Clock::now() >= deadline) {
      run.timed_out = true;
      child.send_signal(SIGKILL);
      while (!child.poll_end()) poll(nullptr, 0, 1);
      ended = true;
    }
  }
  run.end = *child.poll_end();
  return run;
}

}  // namespace nadi::inline ground
