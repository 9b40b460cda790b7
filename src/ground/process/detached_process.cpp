#include "nadi/process/detached_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"
#include "nadi/process/process_keeper.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline ground {
namespace {

// Bash uses 10 and above for itself, and scripts the first few.
constexpr int kOrdersDescriptor = 9;

std::vector<char*> text_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What is told through the pipe of reports: the number of the program first, and then what went wrong.
struct Report {
  pid_t pid = 0;
  int problem = 0;
};

void tell(int pipe, const Report& report) {
  if (write(pipe, &report, sizeof report) < 0) _exit(126);
}

struct DetachedStart {
  const DetachedOptions& options;
  char** words;
  char** environment;
  int input, output, report, go;
};

// In the child of the keeper.
[[noreturn]] void execute_when_released(const DetachedStart& start, int orders) {
  dup2(start.input, STDIN_FILENO);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.output, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_DFL);
  char go = 0;
  ssize_t size = 0;
  while ((size = read(start.go, &go, 1)) < 0 && errno == EINTR) continue;
  if (size != 1) _exit(0);          // who wanted it has ended, or wants it no more
  dup2(orders, kOrdersDescriptor);  // that one is not closed
  execve(start.words[0], start.words, start.environment);
  tell(start.report, {.problem = errno});
  _exit(127);
}

// In a child of the child, so that it is nobody's to wait for.
[[noreturn]] void become_detached(const DetachedStart& start) {
  setsid();
  const pid_t grandchild = fork();
  if (grandchild != 0) _exit(grandchild < 0 ? 1 : 0);
  int orders[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders) != 0) {
    tell(start.report, {.problem = errno});
    _exit(127);
  }
  keep_program({.group = start.options.name,
                .death_signal = SIGTERM,
                .signal_group = false,
                .orders = orders[0],
                .on_start = [&](pid_t pid) { tell(start.report, {.pid = pid}); },
                .on_end = start.options.on_end},
               [&] { execute_when_released(start, orders[1]); });
}

}  // namespace

DetachedProcess::DetachedProcess(const DetachedOptions& options)
    : program_(options.words.empty() ? "" : options.words.front()) {
  check(!options.words.empty(), "a detached process without a program");
  std::vector<std::string> words = options.words, environment = options.environment;
  std::erase_if(environment, [](const std::string& entry) { return entry.starts_with("NADI_KEEPER="); });
  environment.push_back(format("NADI_KEEPER={}", kOrdersDescriptor));
  const std::vector<char*> word_list = text_pointers(words), variables = text_pointers(environment);
  const auto failed = [&](int problem) {
    return resource_shortage(problem, format("start {}", program_))
        .value_or(environment_error(
            format("cannot start {}: {}", program_, std::generic_category().message(problem))));
  };
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!output.is_open()) {
    const int problem = errno;
    throw resource_shortage(problem, format("write {}", options.output.string()))
        .value_or(environment_error(format("cannot write {}: {}", options.output.string(),
                                           std::generic_category().message(problem))));
  }
  int reports[2], gate[2];
  if (pipe2(reports, O_CLOEXEC) != 0) throw failed(errno);
  report_ = Descriptor(reports[0]);
  Descriptor report_end(reports[1]);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0) throw failed(errno);
  const Descriptor gate_end(gate[0]);
  go_ = Descriptor(gate[1]);
  const pid_t child = fork();
  if (child < 0) throw failed(errno);
  if (child == 0) {
    go_.close();  // the program would wait for itself
    report_.close();
    become_detached({.options = options,
                     .words = const_cast<char**>(word_list.data()),
                     .environment = const_cast<char**>(variables.data()),
                     .input = input.get(),
                     .output = output.get(),
                     .report = report_end.get(),
                     .go = gate_end.get()});
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw failed(EAGAIN);
  report_end.close();
  Report report;
  if (read(report_.get(), &report, sizeof report) != static_cast<ssize_t>(sizeof report))
    throw failed(EAGAIN);
  if (report.problem != 0) throw failed(report.problem);
  pid_ = report.pid;
}

void DetachedProcess::release() {
  const char go = 1;
  if (send(go_.get(), &go, 1, MSG_NOSIGNAL) != 1)
    throw environment_error(format("cannot start {}: its keeper has ended", program_));
  go_.close();
  // The end of the pipe without a word is the beginning of the program.
  Report report;
  if (read(report_.get(), &report, sizeof report) == static_cast<ssize_t>(sizeof report))
    throw environment_error(
        format("cannot start {}: {}", program_, std::generic_category().message(report.problem)));
}

unsigned long long process_start(pid_t pid) {
  const auto info = process_info(pid);
  return info && !info->ended ? info->born : 0;
}

}  // namespace nadi::inline ground
