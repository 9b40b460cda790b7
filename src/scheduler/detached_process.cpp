#include "nadi/scheduler/detached_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"
#include "nadi/job/descriptor.h"

namespace nadi {
namespace {

std::vector<char*> text_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In a child of the child, so that it is nobody's to wait for. Only calls that take no locks.
[[noreturn]] void become_detached(char** words, char** environment, int input, int output, int report) {
  setsid();
  const pid_t grandchild = fork();
  if (grandchild != 0) _exit(grandchild < 0 ? 1 : 0);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_DFL);
  execve(words[0], words, environment);
  const int problem = errno;
  if (write(report, &problem, sizeof problem) < 0) _exit(126);
  _exit(127);
}

}  // namespace

void start_detached(const DetachedOptions& options) {
  check(!options.words.empty(), "a detached process without a program");
  std::vector<std::string> words = options.words, environment = options.environment;
  const std::vector<char*> word_list = text_pointers(words), variables = text_pointers(environment);
  const auto failed = [&](int problem) {
    return resource_shortage(problem, format("start {}", options.words[0]))
        .value_or(environment_error(
            format("cannot start {}: {}", options.words[0], std::generic_category().message(problem))));
  };
  const Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!output.is_open()) {
    const int problem = errno;
    throw resource_shortage(problem, format("write {}", options.output.string()))
        .value_or(environment_error(format("cannot write {}: {}", options.output.string(),
                                           std::generic_category().message(problem))));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed(errno);
  const Descriptor report(ends[0]);
  Descriptor report_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw failed(errno);
  if (child == 0)
    become_detached(const_cast<char**>(word_list.data()), const_cast<char**>(variables.data()), input.get(),
                    output.get(), report_end.get());
  report_end = Descriptor();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  // The end of the pipe without a word is the beginning of the program.
  int problem = 0;
  if (read(report.get(), &problem, sizeof problem) == sizeof problem) throw failed(problem);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw failed(EAGAIN);
}

unsigned long long process_start(pid_t pid) {
  std::ifstream file(format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The name stands in parentheses and may hold anything, also parentheses; the start is the 20th field
  // after.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  unsigned long long start = 0;
  for (int i = 0; i < 19; ++i) fields >> field;
  fields >> start;
  return fields ? start : 0;
}

}  // namespace nadi
