#include "nadi/launch/rank_supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/launch_socket.h"
#include "nadi/launch/progress_meter.h"
#include "nadi/launch/rank_board.h"
#include "nadi/launch/rank_watch.h"
#include "nadi/process/free_memory.h"
#include "nadi/process/process_tree.h"
#include "nadi/process/usable_cores.h"

namespace nadi::inline jobs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEndPatience{2000};  // for what the rank left behind to go
constexpr int kNoTimeLimit = -1;
constexpr int kLookMs = 1000;                // at a rank that says nothing
constexpr milliseconds kUsualSilence{2500};  // of one that is well: it speaks once a second

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

int number_in(const char* name, int fallback) {
  const std::string text = variable(name);
  int number = fallback;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown";
}

// From here on these arrive as bytes to read.
Descriptor signals_as_bytes() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

class Supervisor {
 public:
  Supervisor(LaunchSocket socket, ChildOptions rank)
      : signals_(signals_as_bytes()), socket_(std::move(socket)), rank_(rank) {
    socket_.send("started " + host_name());
  }

  void run() {
    while (!rank_.poll_end()) {
      step(kLookMs);
      report_state();
    }
    const bool out_of_memory =
        !asked_ && rank_.poll_end()->signal == SIGKILL && count_memory_kills() > memory_kills_before_;
    // Their output, and the ends of the pipes that they hold, come with their end.
    end_descendants([](const ProcessInfo&) { return true; }, kEndPatience);
    const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
    while ((rank_.out().is_open() || rank_.err().is_open()) && std::chrono::steady_clock::now() < deadline)
      step(100);
    socket_.send(to_line({.status = rank_.poll_end(), .asked = asked_, .out_of_memory = out_of_memory}));
    while (socket_.is_open() && !bye_) step(kNoTimeLimit);
  }

 private:
  void step(int milliseconds_at_most) {
    std::array<pollfd, 5> entries{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = socket_.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = rank_.out().descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = rank_.err().descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = rank_.report().descriptor(), .events = POLLIN, .revents = 0}}};
    poll(entries.data(), entries.size(), milliseconds_at_most);
    rank_.out().read([&](std::string_view line) { socket_.send(format("out {}", line)); });
    rank_.err().read([&](std::string_view line) { socket_.send(format("err {}", line)); });
    rank_.report().read([&](std::string_view line) {
      spoke_ = std::chrono::steady_clock::now();
      socket_.send(format("beat {}", line));
    });
    take_signals();
    if (socket_.is_open()) socket_.read([&](std::string_view order) { obey(order); });
    if (!socket_.is_open()) ask(SIGKILL);
  }

  // A rank that is stopped, or is no program of ours, is looked at from outside.
  void report_state() {
    const auto now = std::chrono::steady_clock::now();
    if ((spoke_ && now - *spoke_ < kUsualSilence) || now - looked_ < milliseconds(kLookMs)) return;
    looked_ = now;
    const char state = process_state(rank_.pid());
    const auto computed = std::chrono::duration_cast<milliseconds>(computed_by(rank_.pid()));
    if (state != '\0') socket_.send(format("state {} {}", state, computed.count()));
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      if (info.ssi_signo != SIGCHLD) ask(SIGTERM);  // mpirun wants us to end
  }

  void obey(std::string_view order) {
    if (order == "terminate") ask(SIGTERM);
    if (order == "kill") ask(SIGKILL);
    if (order == "bye") bye_ = true;
  }

  // SIGTERM is sent once, whoever wants it: a second one would end a rank that is saving.
  void ask(int signal) {
    if (signal == SIGTERM && std::exchange(terminated_, true)) return;
    asked_ = asked_ || !rank_.poll_end();
    rank_.send_signal(signal);
  }

  Adoption adoption_;
  Descriptor signals_;
  LaunchSocket socket_;
  std::int64_t memory_kills_before_ = count_memory_kills();
  ChildProcess rank_;
  std::optional<std::chrono::steady_clock::time_point> spoke_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  bool asked_ = false;
  bool terminated_ = false;
  bool bye_ = false;
};

}  // namespace

Environment rank_environment(int cores, int ranks_on_host) {
  Environment environment;
  if (variable("OMP_NUM_THREADS").empty() && variable(std::string(kThreadsVariable).c_str()).empty())
    environment.emplace_back(kThreadsVariable, format("{}", std::max(1, cores / ranks_on_host)));
  // A rank that waits for a message should not keep a core from the one that has to send it.
  if (ranks_on_host > cores) environment.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  return environment;
}

int supervise_rank(const std::vector<std::string>& command) {
  try {
    const std::string contact = variable(std::string(kContactVariable).c_str());
    const std::string rank = variable("OMPI_COMM_WORLD_RANK");
    if (contact.empty() || rank.empty() || command.empty())
      throw usage_error(format("'{}' is what 'nadi launch' starts under mpirun", kSupervisorWord));
    const int ranks_on_host = std::max(1, number_in("OMPI_COMM_WORLD_LOCAL_SIZE", 1));
    Environment environment = rank_environment(usable_cores(), ranks_on_host);
    environment.emplace_back(kBeatsVariable, format("{}", kReportDescriptor));
    Supervisor supervisor(connect_to_launcher(contact, rank),
                          {.words = command, .environment = environment, .with_report = true});
    supervisor.run();
    return 0;  // launch() has heard how the rank ended; mpirun need not
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return exit_code(error.kind());
  }
}

}  // namespace nadi::inline jobs
