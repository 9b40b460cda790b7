#include "nadi/launch/joined_node.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/launch/meeting_address.h"
#include "nadi/process/child_process.h"
#include "nadi/process/find_program.h"
#include "nadi/process/process_tree.h"

namespace nadi::inline jobs {
namespace {

using Time = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kGuestTickMs = 50;
constexpr int kBetweenTriesMs = 200;
constexpr int kAnswerMs = 5000;
constexpr milliseconds kDaemonPatience{5000};
constexpr int kGuestFailed = 1;

std::string spent(milliseconds time) {
  return format("{} s", std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

// The next line, or nothing when none comes in time.
std::optional<std::string> next_line(LaunchSocket& socket, int milliseconds_at_most) {
  std::optional<std::string> first;
  const auto deadline = Time::now() + milliseconds(milliseconds_at_most);
  while (!first && socket.is_open()) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Time::now()).count();
    if (left <= 0) break;
    pollfd entry{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
    poll(&entry, 1, static_cast<int>(left));
    socket.read([&](std::string_view line) {
      if (!first) first = std::string(line);
    });
  }
  return first;
}

class Guest {
 public:
  Guest(const JoinRequest& request, JoinListener& listener, const std::function<bool()>& stop_asked)
      : request_(request), listener_(listener), stop_asked_(stop_asked), scratch_("node") {
    const auto found = find_program("orted");
    if (!found)
      throw environment_error("there is no orted on PATH, the daemon of mpirun on this machine",
                              "install Open MPI: package openmpi-bin on Debian and Ubuntu");
    orted_ = *found;
  }
  ~Guest() { end_daemon(); }

  JoinedEnd run() {
    if (!connect()) return {.stopped = true, .exit_code = kInterruptedExitCode};
    introduce();
    listener_.joined();
    bool asked = false;
    while (!end_) {
      wait();
      socket_->read([&](std::string_view line) { hear(line); });
      tell_of_daemon();
      if (!end_ && !socket_->is_open())
        throw environment_error(
            format("the launch of node 0 at {} is gone: the ranks on this machine were ended",
                   request_.place.to_string()),
            "see what it printed");
      if (!asked && stop_asked_()) {
        asked = true;
        socket_->send("stop");
      }
    }
    return *end_;
  }

 private:
  // Until the host listens. False when the user does not want to wait.
  bool connect() {
    const auto deadline = Time::now() + request_.patience;
    for (bool told = false;;) {
      Descriptor descriptor = connect_to(request_.place, kAnswerMs);
      if (descriptor.is_open()) {
        socket_.emplace(std::move(descriptor));
        return true;
      }
      if (stop_asked_()) return false;
      if (Time::now() >= deadline)
        throw environment_error(
            format("nobody listens at {} for {}", request_.place.to_string(), spent(request_.patience)),
            "start the launch of node 0 on the machine that the master address names; all "
            "machines reach its port over TCP");
      if (!std::exchange(told, true)) listener_.waiting();
      poll(nullptr, 0, kBetweenTriesMs);
    }
  }

  Error not_a_launch() const {
    return environment_error(format("whoever listens at {} is no launch of Nadi, or of another version",
                                    request_.place.to_string()),
                             "choose another port for all nodes");
  }

  void introduce() {
    const std::string challenge = random_digits();
    socket_->send(format("{}{}", kMeetingGreeting, challenge));
    const auto answer = next_line(*socket_, kAnswerMs);
    if (!answer || !answer->starts_with(kMeetingGreeting)) throw not_a_launch();
    const std::string_view text = std::string_view(*answer).substr(kMeetingGreeting.size());
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view host_challenge = text.substr(0, space);
    const std::string_view proof = text.substr(std::min(space + 1, text.size()));
    if (!same_proof(proof, proof_of(request_.token, MeetingSide::kHost, challenge, host_challenge)))
      throw other_token();
    socket_->send(format("join {} {}",
                         proof_of(request_.token, MeetingSide::kGuest, challenge, host_challenge),
                         to_line(request_.own)));
    const auto verdict = next_line(*socket_, kAnswerMs);
    if (!verdict) throw not_a_launch();
    if (*verdict == "stranger") throw other_token();
    constexpr std::string_view kRefused = "refused ";
    if (verdict->starts_with(kRefused))
      throw usage_error(
          format("the launch of node 0 at {} does not take this launch as node {}: {}",
                 request_.place.to_string(), request_.own.node, verdict->substr(kRefused.size())),
          "start all launches of a job alike but for the number of the node");
    if (*verdict != "joined") throw not_a_launch();
  }

  Error other_token() const {
    return environment_error(
        format("the launch at {} does not know the token of this one ({})", request_.place.to_string(),
               request_.token.place),
        format("copy the file launch_token from one machine to the other, or set {} to the same secret for "
               "all launches",
               kTokenVariable));
  }

  void wait() {
    std::vector<pollfd> entries{{.fd = socket_->descriptor(), .events = POLLIN, .revents = 0}};
    if (daemon_)
      for (const LineStream* stream : {&daemon_->out(), &daemon_->err()})
        entries.push_back({.fd = stream->descriptor(), .events = POLLIN, .revents = 0});
    poll(entries.data(), entries.size(), kGuestTickMs);
  }

  void hear(std::string_view line) {
    constexpr std::string_view kStart = "start ", kEnd = "end ";
    if (line.starts_with(kStart)) return start_daemon(line.substr(kStart.size()));
    if (line == "kill") {
      end_daemon();
      socket_->send(format("ended {}", kGuestFailed));
    }
    if (!line.starts_with(kEnd)) return;
    line.remove_prefix(kEnd.size());
    JoinedEnd end{.exit_code = kGuestFailed};
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), end.exit_code);
    if (error == std::errc{} && rest != line.data() + line.size())
      end.text = line.substr(static_cast<std::size_t>(rest - line.data()) + 1);
    end_ = end;
  }

  void start_daemon(std::string_view line) {
    const auto words = parse_words(line);
    const auto arguments = words ? daemon_arguments(*words) : std::nullopt;
    if (!arguments || daemon_) {
      socket_->send("said error: this launch starts one orted, and nothing else");
      socket_->send(format("ended {}", kGuestFailed));
      return;
    }
    ChildOptions options{.words = {orted_.string()}, .new_session = true};
    options.words.insert(options.words.end(), arguments->begin(), arguments->end());
    // A folder of its own: daemons of one job on one machine would share the files in theirs.
    options.environment.emplace_back("OMPI_MCA_orte_tmpdir_base", scratch_.path().string());
    // As mpirun_command.cpp does, and for the same reason.
    if (std::getenv("HWLOC_COMPONENTS") == nullptr)
      options.environment.emplace_back("HWLOC_COMPONENTS", "-gl");
    if (geteuid() == 0) {
      options.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
      options.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    daemon_.emplace(options);
  }

  void tell_of_daemon() {
    if (!daemon_) return;
    for (LineStream* stream : {&daemon_->out(), &daemon_->err()})
      stream->read([&](std::string_view line) { socket_->send(format("said {}", line)); });
    const std::optional<EndStatus> status = daemon_->poll_end();
    if (!status) return;
    end_daemon();
    socket_->send(format("ended {}", status->signal != 0 ? kGuestFailed : status->exit_code));
  }

  // With all that it has started.
  void end_daemon() {
    if (!daemon_) return;
    const auto deadline = Time::now() + kDaemonPatience;
    daemon_->send_signal(SIGKILL);
    while (!daemon_->poll_end() && Time::now() < deadline) poll(nullptr, 0, 1);
    daemon_.reset();
    end_descendants([](const ProcessInfo&) { return true; }, kDaemonPatience);
  }

  const JoinRequest& request_;
  JoinListener& listener_;
  const std::function<bool()>& stop_asked_;
  TemporaryFolder scratch_;
  Adoption adoption_;
  std::filesystem::path orted_;
  std::optional<LaunchSocket> socket_;
  std::optional<ChildProcess> daemon_;
  std::optional<JoinedEnd> end_;
};

}  // namespace

JoinedEnd join_meeting(const JoinRequest& request, JoinListener& listener,
                       const std::function<bool()>& stop_asked) {
  return Guest(request, listener, stop_asked).run();
}

}  // namespace nadi::inline jobs
