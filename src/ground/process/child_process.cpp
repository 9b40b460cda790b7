#include "nadi/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"
#include "nadi/process/process_keeper.h"

namespace nadi::inline ground {
namespace {

constexpr int kCannotExecute = 127;  // as shells report it

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Error system_error(std::string_view what) {
  const int problem = errno;
  return resource_shortage(problem, what)
      .value_or(environment_error(format("cannot {}: {}", what, std::generic_category().message(problem))));
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("make a pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// "NAME=value": ours, with what is added in place of the same names.
std::vector<std::string> merged_environment(const Environment& added) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::ranges::any_of(
        added, [&](const auto& variable) { return text.substr(0, text.find('=')) == variable.first; });
    if (!replaced) entries.emplace_back(text);
  }
  for (const auto& [name, value] : added) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildStart {
  char** words;
  char** environment;
  int input, output, errors, report;  // report -1: none
  int problem;                        // where an error of execve() is told
  pid_t parent;
  bool new_session;
  int death_signal;
};

// In the child, where another thread of the parent may have held any lock: only calls that take none.
[[noreturn]] void execute(const ChildStart& start) {
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.errors, STDERR_FILENO);
  if (start.report >= 0) {
    // The same number would stay as it is, and be closed by execve().
    const int spare = start.report == kReportDescriptor ? dup(start.report) : start.report;
    dup2(spare, kReportDescriptor);
    if (spare != start.report) close(spare);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD}) ::signal(signal, SIG_DFL);
  execve(start.words[0], start.words, start.environment);
  const int problem = errno;
  for (const char* part :
       {"cannot start ", static_cast<const char*>(start.words[0]), ": ", strerrordesc_np(problem), "\n"})
    if (part == nullptr || write(STDERR_FILENO, part, strlen(part)) < 0) break;
  if (write(start.problem, &problem, sizeof problem) < 0) _exit(kCannotExecute);
  _exit(kCannotExecute);
}

[[noreturn]] void become(const ChildStart& start) {
  if (start.new_session)
    setsid();
  else
    setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, start.death_signal);
  if (getppid() != start.parent) _exit(kCannotExecute);  // it died before the line above
  execute(start);
}

}  // namespace

ChildProcess::ChildProcess(const ChildOptions& options) : kept_(!options.kept.empty()) {
  check(!options.words.empty(), "a child process without a program");
  std::vector<std::string> words = options.words;
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe report;
  if (options.with_report) report = make_pipe();
  // Not a number that the child's own descriptors get.
  Pipe problem = make_pipe();
  if (problem.write.get() <= kReportDescriptor)
    problem.write = Descriptor(fcntl(problem.write.get(), F_DUPFD_CLOEXEC, kReportDescriptor + 1));
  if (!problem.write.is_open()) throw system_error("make a pipe");
  fcntl(problem.read.get(), F_SETFL, O_NONBLOCK);
  const ChildStart start{.words = const_cast<char**>(word_pointers.data()),
                         .environment = const_cast<char**>(environment_pointers.data()),
                         .input = nothing.get(),
                         .output = out.write.get(),
                         .errors = err.write.get(),
                         .report = report.write.get(),
                         .problem = problem.write.get(),
                         .parent = getpid(),
                         .new_session = options.new_session,
                         .death_signal = options.death_signal};
  pid_ = fork();
  if (pid_ < 0) throw system_error("start another process");
  if (pid_ == 0 && kept_)
    keep_program({.parent = start.parent, .group = options.kept, .death_signal = options.death_signal},
                 [&] { execute(start); });
  if (pid_ == 0) become(start);
  if (!options.new_session && !kept_) setpgid(pid_, pid_);  // whoever is first; so it holds when we go on
  out_ = LineStream(std::move(out.read));
  err_ = LineStream(std::move(err.read));
  if (options.with_report) report_ = LineStream(std::move(report.read));
  problem_ = std::move(problem.read);
}

ChildProcess::~ChildProcess() {
  if (poll_end()) return;
  end_all();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

const std::optional<EndStatus>& ChildProcess::poll_end() {
  int status = 0;
  if (!end_ && waitpid(pid_, &status, WNOHANG) == pid_) end_ = EndStatus::from_wait(status);
  return end_;
}

int ChildProcess::start_problem() {
  int problem = 0;
  return read(problem_.get(), &problem, sizeof problem) == sizeof problem ? problem : 0;
}

void ChildProcess::send_signal(int signal) {
  if (!poll_end()) kill(pid_, signal);
}

void ChildProcess::end_all() {
  if (!poll_end()) kill(pid_, kept_ ? SIGUSR1 : SIGKILL);
}

}  // namespace nadi::inline ground
