#include "nadi/tune/trial_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/shorten.h"
#include "nadi/job_log/error_words.h"
#include "nadi/process/child_process.h"
#include "nadi/process/find_program.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline tuning {
namespace {

using TrialClock = std::chrono::steady_clock;

// How long we sleep at most while nothing is printed: what a stop, an end and a limit wait for.
constexpr int kLongestWait = 50;
constexpr std::chrono::milliseconds kSweepPatience{2000};
constexpr std::size_t kReasonLength = 200;

// A rule between paragraphs, as mpirun prints it, says nothing.
bool has_letters(std::string_view line) {
  return std::ranges::any_of(line, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

constexpr std::string_view kTrialVariable = "NADI_TRIAL";

// "NADI_TRIAL=4711-567890.3": no two trials of this machine have the same.
std::pair<std::string, std::string> trial_mark() {
  static std::atomic<std::int64_t> next = 0;
  const auto self = process_info(getpid());
  return {std::string(kTrialVariable), format("{}-{}.{}", getpid(), self ? self->born : 0, next++)};
}

// Whether the process that a mark names is no more.
bool is_orphaned(const std::string& mark) {
  pid_t tuner = 0;
  unsigned long long born = 0;
  if (std::sscanf(mark.c_str(), "%d-%llu.", &tuner, &born) != 2) return false;
  const auto info = process_info(tuner);
  return !info || info->ended || info->born != born;
}

// Whether this process has a child of any kind: cheaper than going through /proc.
bool has_children() {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

std::size_t sweep(const std::pair<std::string, std::string>& mark) {
  if (!has_children()) return 0;
  const std::string variable = mark.first + "=" + mark.second;
  return end_descendants(
      [&](const ProcessInfo& process) { return !process.ended && started_with(process.pid, variable); },
      kSweepPatience);
}

void wait_for_output(ChildProcess& child, int milliseconds) {
  std::array<pollfd, 2> sources{pollfd{child.out().descriptor(), POLLIN, 0},
                                pollfd{child.err().descriptor(), POLLIN, 0}};
  poll(sources.data(), sources.size(), milliseconds);
}

std::filesystem::path program_named(const std::string& name) {
  if (auto program = find_program(name)) return std::move(*program);
  std::error_code ignored;
  if (name.find('/') != std::string::npos && std::filesystem::is_regular_file(name, ignored))
    throw environment_error(format("cannot run '{}': the file is not executable", name),
                            format("chmod +x {}", shell_word(name)));
  throw environment_error(format("cannot run '{}': there is no such program", name),
                          "give a path, or a program on PATH");
}

class ProcessRun {
 public:
  ProcessRun(const TrialCommand& command, const ProcessLimits& limits, const ProcessHooks& hooks)
      : limits_(limits),
        hooks_(hooks),
        program_(program_named(command.words.at(0)).string()),
        mark_(trial_mark()),
        gpu_(limits.gpu),
        start_(TrialClock::now()),
        child_(options(command)) {}

  ProcessEnd run() {
    ProcessEnd end;
    int quiet_rounds = 0;
    while (!child_.poll_end()) {
      // Both ends closed while it runs: nothing to wait on but time.
      const bool silent = !child_.out().is_open() && !child_.err().is_open();
      wait_for_output(child_, silent ? std::min(++quiet_rounds, kLongestWait) : kLongestWait);
      read_output();
      if (!end.stopped) {
        end.stopped = stop_request();
        if (end.stopped) begin_end();
      } else if (!end.killed && TrialClock::now() - asked_ > limits_.grace) {
        child_.end_all();
        end.killed = true;
      }
    }
    end.seconds = std::chrono::duration<double>(TrialClock::now() - start_).count();
    read_rest();
    end.left_behind = sweep(mark_);
    end.status = *child_.poll_end();
    if (const int problem = child_.start_problem(); problem != 0) end.not_started = why_not(problem);
    end.peak_gpu_memory_mib = gpu_.peak_memory_mib();
    return end;
  }

 private:
  ChildOptions options(const TrialCommand& command) const {
    ChildOptions options{.words = command.words, .environment = command.environment};
    options.kept = "nadi-trial-" + mark_.second;
    options.words[0] = program_;
    options.environment.push_back(mark_);
    return options;
  }

  // The file is there and may be executed; what the system cannot execute is what is in it.
  std::string why_not(int problem) const {
    const std::string why = problem == ENOENT    ? "the interpreter that it names is not there"
                            : problem == ENOEXEC ? "neither a program nor a script that begins with '#!'"
                                                 : std::generic_category().message(problem);
    return format("cannot run '{}': {}", program_, why);
  }

  void read_output() {
    const auto pass = [&](bool is_error) {
      return [this, is_error](std::string_view line) {
        if (hooks_.on_line) hooks_.on_line(line, is_error);
      };
    };
    child_.out().read(pass(false));
    child_.err().read(pass(true));
  }

  // What is still in the pipes. Processes that outlived the keeper may hold them open for ever: they are
  // ended first.
  void read_rest() {
    read_output();
    if (!child_.out().is_open() && !child_.err().is_open()) return;
    sweep(mark_);
    const auto until = TrialClock::now() + kSweepPatience;
    while ((child_.out().is_open() || child_.err().is_open()) && TrialClock::now() < until) {
      wait_for_output(child_, kLongestWait);
      read_output();
    }
  }

  std::optional<StopRequest> stop_request() {
    if (limits_.timeout && TrialClock::now() - start_ > *limits_.timeout)
      return StopRequest{StopKind::kTimedOut, format("took longer than {} s",
                                                     static_cast<double>(limits_.timeout->count()) / 1000)};
    if (auto reason = gpu_.poll()) return StopRequest{StopKind::kLimit, std::move(*reason)};
    return hooks_.stop ? hooks_.stop() : std::nullopt;
  }

  void begin_end() {
    asked_ = TrialClock::now();
    child_.send_signal(SIGTERM);
  }

  const ProcessLimits& limits_;
  const ProcessHooks& hooks_;
  std::string program_;
  std::pair<std::string, std::string> mark_;
  GpuWatch gpu_;
  TrialClock::time_point start_;
  TrialClock::time_point asked_;
  ChildProcess child_;
};

}  // namespace

void require_program(const CommandTemplate& command) {
  if (!program_varies(command)) program_named(command.words.at(0));
}

ProcessEnd run_trial_process(const TrialCommand& command, const ProcessLimits& limits,
                             const ProcessHooks& hooks) {
  return ProcessRun(command, limits, hooks).run();
}

std::size_t end_orphaned_trials() {
  std::set<pid_t> found;
  end_processes(
      [&](const ProcessInfo& process) {
        if (process.ended || !shares_process_numbers(process.pid)) return false;
        const auto mark = started_with_value(process.pid, kTrialVariable);
        if (!mark || !is_orphaned(*mark)) return false;
        found.insert(process.pid);
        return true;
      },
      kSweepPatience);
  return found.size();
}

std::optional<FailureReason> failure_of(const EndStatus& status, const std::vector<std::string>& last_lines) {
  if (status.good()) return std::nullopt;
  FailureReason failure;
  std::string said;
  for (const std::string& line : last_lines) {
    const ErrorWords* const words = find_error_words(lower_case(line));
    if (!failure.out_of_memory && words != nullptr && words->sort == ErrorSort::kMemory) {
      failure.out_of_memory = true;
      said = line;
    }
  }
  // Nobody of ours sent it: on most machines the kernel did, for want of memory.
  const bool killed = status.signal == SIGKILL;
  // A line that calls itself an error says more than what a launcher adds behind it.
  if (said.empty())
    for (const std::string& line : last_lines)
      if (lower_case(line).find("error:") != std::string::npos) said = line;
  if (said.empty())
    for (const std::string& line : last_lines)
      if (has_letters(line)) said = line;
  failure.reason = failure.out_of_memory ? "out of memory: " + status.to_string() : status.to_string();
  if (killed && !failure.out_of_memory) failure.reason += "; the kernel kills like this when memory runs out";
  if (!said.empty()) failure.reason += ": " + shorten_middle(said, kReasonLength);
  return failure;
}

}  // namespace nadi::inline tuning
