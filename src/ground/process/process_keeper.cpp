#include "nadi/process/process_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <thread>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/process/descriptor.h"
#include "nadi/process/kill_group.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline ground {
namespace {

constexpr const char* kKeeperName = "nadi-keeper";
constexpr std::string_view kGroupBegin = "nadi-";
constexpr int kCannotStart = 127;

sigset_t keeper_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&set, signal);
  return set;
}

class Keeper {
 public:
  Keeper(const KeptProgram& program, const std::function<void()>& become) : program_(program) {
    prctl(PR_SET_NAME, kKeeperName);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const sigset_t set = keeper_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &set, &before);
    if (program.parent != 0) {
      prctl(PR_SET_PDEATHSIG, SIGUSR1);
      if (getppid() != program.parent) _exit(kCannotStart);  // it died before the line above
    }
    leave_kill_group(kGroupBegin);
    if (!program.group.empty()) group_ = KillGroup::make(program.group);
    const pid_t keeper = getpid();
    int gate[2] = {-1, -1};
    if (pipe2(gate, O_CLOEXEC) != 0) _exit(kCannotStart);
    child_ = fork();
    if (child_ < 0) _exit(kCannotStart);
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, program.death_signal);
      if (getppid() != keeper) _exit(kCannotStart);
      setsid();
      close(gate[1]);
      char go = 0;
      if (read(gate[0], &go, 1) != 1) _exit(kCannotStart);
      close(gate[0]);
      if (group_) group_->take_this_process();
      sigprocmask(SIG_SETMASK, &before, nullptr);
      become();
      _exit(kCannotStart);
    }
    close(gate[0]);
    if (program.on_start) program.on_start(child_);
    const char go = 1;
    if (write(gate[1], &go, 1) != 1) ::kill(child_, SIGKILL);
    let_go_of_files();
    signals_ = Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  }

  [[noreturn]] void run() {
    while (!end_) step();
    end_others({});
    group_.reset();
    if (program_.on_end) program_.on_end(*end_);
    end_alike();
  }

 private:
  // Pipes and sockets of those who started us would never come to their ends.
  void let_go_of_files() {
    const int kept = program_.orders;
    const unsigned first = STDERR_FILENO + 1;
    if (kept >= 0) {
      if (static_cast<unsigned>(kept) > first) close_range(first, static_cast<unsigned>(kept) - 1, 0);
      close_range(std::max(first, static_cast<unsigned>(kept) + 1), ~0U, 0);
    } else {
      close_range(first, ~0U, 0);
    }
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing.get(), standard);
    orders_open_ = kept >= 0;
  }

  void step() {
    std::array<pollfd, 2> entries{
        {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
         {.fd = orders_open_ ? program_.orders : -1, .events = POLLIN, .revents = 0}}};
    poll(entries.data(), entries.size(), -1);
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      take_signal(static_cast<int>(info.ssi_signo));
    forget_ended();
    if (orders_open_ && entries[1].revents != 0) take_orders();
  }

  void take_signal(int signal) {
    if (signal == SIGUSR1) kill_all();
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
      ::kill(program_.signal_group ? -child_ : child_, signal);
  }

  void forget_ended() {
    int status = 0;
    for (pid_t pid = 0; !end_ && (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (pid == child_) end_ = EndStatus::from_wait(status);
  }

  void take_orders() {
    std::array<char, 256> part;
    const ssize_t size = read(program_.orders, part.data(), part.size());
    if (size <= 0) {
      orders_open_ = false;
      return;
    }
    text_.append(part.data(), static_cast<std::size_t>(size));
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      pid_t spared = 0;
      std::from_chars(text_.data(), text_.data() + end, spared);
      const std::string answer = format("{}\n", end_others(path_to(getpid(), spared)));
      if (write(program_.orders, answer.data(), answer.size()) < 0) orders_open_ = false;
    }
  }

  // Everything, the program itself too; how that ended is still to be asked for.
  void kill_all() {
    ::kill(child_, SIGKILL);
    end_others(path_to(getpid(), child_));
  }

  // But for those of `spared`, and other keepers with what is theirs.
  std::size_t end_others(const std::vector<ProcessInfo>& spared) {
    if (!has_children()) return 0;
    if (spared.empty() && group_) end_group();
    return end_descendants(
        [&](const ProcessInfo& process) {
          if (std::ranges::find(spared, process.pid, &ProcessInfo::pid) != spared.end()) return false;
          return std::ranges::none_of(path_to(getpid(), process.pid),
                                      [](const ProcessInfo& above) { return above.name == kKeeperName; });
        },
        kKeeperPatience);
  }

  // Whoever is left below us has an ancestor that is our child: asking for one is much cheaper than /proc.
  static bool has_children() {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
  }

  void end_group() {
    const auto deadline = std::chrono::steady_clock::now() + kKeeperPatience;
    group_->kill();
    while (!group_->is_empty() && std::chrono::steady_clock::now() < deadline) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  [[noreturn]] void end_alike() const {
    if (end_->signal == 0) _exit(end_->exit_code);
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};  // its core is the one that says something
    setrlimit(RLIMIT_CORE, &none);
    ::signal(end_->signal, SIG_DFL);
    sigset_t nothing;
    sigemptyset(&nothing);
    ::kill(getpid(), end_->signal);
    sigprocmask(SIG_SETMASK, &nothing, nullptr);
    _exit(128 + end_->signal);
  }

  const KeptProgram& program_;
  std::optional<KillGroup> group_;
  pid_t child_ = -1;
  Descriptor signals_;
  bool orders_open_ = false;
  std::string text_;  // of orders, up to what is not a whole line yet
  std::optional<EndStatus> end_;
};

}  // namespace

void keep_program(const KeptProgram& program, const std::function<void()>& become) {
  Keeper(program, become).run();
}

}  // namespace nadi::inline ground
