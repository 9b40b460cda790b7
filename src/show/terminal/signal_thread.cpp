#include "nadi/terminal/signal_thread.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/resource_shortage.h"
#include "nadi/terminal/interruption.h"

namespace nadi::inline show {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::array kInterrupts{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
constexpr int kTickMs = 50;  // how often a command that was asked to end is looked at

bool is_ignored(int signal) {
  struct sigaction inherited {};
  sigaction(signal, nullptr, &inherited);
  return inherited.sa_handler == SIG_IGN;
}

// The default action, which ends the process as its parent expects of the signal.
[[noreturn]] void end_by(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  _exit(128 + signal);
}

void tell(const char* doing) {
  const std::string line = format("\nnote: {}; Ctrl-C again ends at once\n", doing);
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // then nobody watches
}

Error no_descriptor() {
  const int problem = errno;
  return resource_shortage(problem, "listen to signals")
      .value_or(environment_error(
          format("cannot listen to signals: {}", std::generic_category().message(problem))));
}

}  // namespace

__attribute__((no_sanitize("address", "thread", "undefined"))) void block_interrupts() {
  // As the kernel has it: bit n - 1 is signal n. The C library's call may not be ready, or be replaced by a
  // sanitizer that is not.
  unsigned long set = 0;
  set |= 1UL << (SIGINT - 1);
  set |= 1UL << (SIGTERM - 1);
  set |= 1UL << (SIGHUP - 1);
  set |= 1UL << (SIGUSR1 - 1);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, nullptr, sizeof set);
}

SignalThread::SignalThread(Interruption& interruption, const SignalThreadOptions& options)
    : interruption_(interruption), options_(options) {
  sigset_t listened, ignored;
  sigemptyset(&listened);
  sigemptyset(&ignored);
  for (const int signal : kInterrupts) sigaddset(is_ignored(signal) ? &ignored : &listened, signal);
  pthread_sigmask(SIG_UNBLOCK, &ignored, nullptr);  // the kernel keeps what is blocked, ignored or not
  pthread_sigmask(SIG_BLOCK, &listened, nullptr);
  signals_ = signalfd(-1, &listened, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals_ < 0) throw no_descriptor();
  leave_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (leave_ < 0) {
    const Error error = no_descriptor();
    close(signals_);
    throw error;
  }
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    close(signals_);
    close(leave_);
    throw resource_shortage(failure.code().value(), "start the thread that listens to signals")
        .value_or(environment_error(format("cannot listen to signals: {}", failure.what())));
  }
  pthread_setname_np(thread_.native_handle(), "signals");
}

SignalThread::~SignalThread() {
  const std::uint64_t one = 1;
  while (write(leave_, &one, sizeof one) < 0 && errno == EINTR) continue;
  thread_.join();
  close(leave_);
  close(signals_);
}

void SignalThread::run() {
  std::optional<SteadyClock::time_point> asked;     // first signal of any kind
  std::optional<SteadyClock::time_point> first;     // signal that is not SIGUSR1
  std::optional<SteadyClock::time_point> deadline;  // after any signal
  const char* told = nullptr;
  for (;;) {
    std::array<pollfd, 2> entries{
        {{.fd = signals_, .events = POLLIN, .revents = 0}, {.fd = leave_, .events = POLLIN, .revents = 0}}};
    // A limit to what holds it may be set after the signal: the command is looked at to its end.
    poll(entries.data(), entries.size(), deadline ? kTickMs : -1);
    if (entries[1].revents != 0) return;
    const SteadyClock::time_point now = SteadyClock::now();
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const bool restart = info.ssi_signo == SIGUSR1;
      if (first && !restart && now - *first > kSameWish) end_by(static_cast<int>(info.ssi_signo));
      if (!asked) asked = now;
      if (!deadline) deadline = now + kUnheard;
      if (!first && !restart) first = now;
      interruption_.ask(restart ? EndWish::kRestart : EndWish::kEnd);
    }
    const std::chrono::milliseconds patience = interruption_.patience();
    if (asked && patience != Interruption::kForEver && now - *asked >= patience)
      _exit(interruption_.exit_code());
    if (!deadline || interruption_.heard()) continue;
    if (const char* const doing = interruption_.held_for()) {
      deadline = now + kUnheard;
      if (options_.terminal_err && told == nullptr) tell(told = doing);
    } else if (now >= *deadline) {
      _exit(interruption_.exit_code());
    }
  }
}

}  // namespace nadi::inline show
