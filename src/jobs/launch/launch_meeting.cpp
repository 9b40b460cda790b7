#include "nadi/launch/launch_meeting.h"

#include <poll.h>

#include <algorithm>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/launch/meeting_address.h"

namespace nadi::inline jobs {
namespace {

using Time = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kHostPrefix = "nadi-node-";
constexpr int kMeetingTickMs = 50;
constexpr milliseconds kStrangerPatience{5000};  // for saying who it is
constexpr std::size_t kMostStrangers = 256;      // at once; others wait in the queue of the socket

std::string list_of(const std::vector<int>& nodes) {
  std::string text = nodes.size() == 1 ? "node " : "nodes ";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    text += format("{}{}", i == 0 ? "" : i + 1 == nodes.size() ? " and " : ", ", nodes[i]);
  return text;
}

}  // namespace

std::string MeetingPlace::to_string() const {
  return format("{}:{}", address, port);
}

// Somebody who has connected and not yet proved anything.
struct LaunchMeeting::Stranger {
  LaunchSocket socket;
  Time::time_point since = Time::now();
  std::string guest_challenge = {}, host_challenge = {};
  bool done = false;
};

struct LaunchMeeting::Guest {
  NodeIntroduction introduction = {};
  std::optional<LaunchSocket> socket = {};
  std::optional<LaunchSocket> agent = {};  // of mpirun, while the daemon is wanted
  bool daemon_runs = false;
};

LaunchMeeting::LaunchMeeting(MeetingPlace place, NodeIntroduction own, LaunchToken token)
    : place_(std::move(place)),
      own_(std::move(own)),
      token_(std::move(token)),
      listening_(listen_at(place_)) {
  guests_.resize(static_cast<std::size_t>(own_.nodes));
}

LaunchMeeting::~LaunchMeeting() = default;

std::vector<bool> LaunchMeeting::present() const {
  std::vector<bool> present{true};
  for (std::size_t node = 1; node < guests_.size(); ++node)
    present.push_back(guests_[node].socket.has_value());
  return present;
}

std::string LaunchMeeting::missing() const {
  std::vector<int> nodes;
  for (std::size_t node = 1; node < guests_.size(); ++node)
    if (!guests_[node].socket) nodes.push_back(static_cast<int>(node));
  return nodes.empty() ? "" : list_of(nodes);
}

void LaunchMeeting::wait(int milliseconds) const {
  std::vector<pollfd> entries;
  for (const int descriptor : descriptors())
    entries.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  poll(entries.data(), entries.size(), milliseconds);
}

std::vector<int> LaunchMeeting::descriptors() const {
  std::vector<int> descriptors{listening_.get()};
  for (const Stranger& stranger : strangers_) descriptors.push_back(stranger.socket.descriptor());
  for (const Guest& guest : guests_) {
    if (guest.socket) descriptors.push_back(guest.socket->descriptor());
    if (guest.agent) descriptors.push_back(guest.agent->descriptor());
  }
  return descriptors;
}

bool LaunchMeeting::wait_for_all(milliseconds patience, const std::function<bool()>& stop_asked,
                                 const std::function<void(const std::string&)>& refused) {
  const Time::time_point deadline = Time::now() + patience;
  while (!missing().empty()) {
    if (stop_asked()) return false;
    if (Time::now() >= deadline)
      throw environment_error(
          format("{} of {} did not come to {} within {} s", missing(), own_.nodes, place_.to_string(),
                 std::chrono::duration_cast<std::chrono::seconds>(patience).count()),
          "start a launch for each node; all of them reach the master address over TCP");
    wait(kMeetingTickMs);
    accept(refused);
    for (std::size_t node = 1; node < guests_.size(); ++node) {
      Guest& guest = guests_[node];
      if (!guest.socket) continue;
      guest.socket->read([&](std::string_view line) { hear_guest(guest, line); });
      if (guest.socket->is_open()) continue;
      refused(format("the launch of node {} on {} has gone again", node, guest.introduction.host));
      guest = {};
    }
    if (stop_asked_) return false;
  }
  begun_ = true;
  return true;
}

void LaunchMeeting::accept(const std::function<void(const std::string&)>& refused) {
  while (strangers_.size() < kMostStrangers) {
    Descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) break;
    strangers_.push_back({.socket = LaunchSocket(std::move(connection))});
  }
  for (Stranger& stranger : strangers_)
    stranger.done = !hear_stranger(stranger, refused) || Time::now() - stranger.since > kStrangerPatience;
  std::erase_if(strangers_, [](const Stranger& stranger) { return stranger.done; });
}

// False when there is nothing more to hear.
bool LaunchMeeting::hear_stranger(Stranger& stranger,
                                  const std::function<void(const std::string&)>& refused) {
  bool goes_on = true;
  std::optional<NodeIntroduction> guest;
  stranger.socket.read([&](std::string_view line) {
    if (!goes_on || guest) return;
    if (stranger.host_challenge.empty()) {
      goes_on = line.starts_with(kMeetingGreeting);
      if (!goes_on) return;
      stranger.guest_challenge = line.substr(kMeetingGreeting.size());
      stranger.host_challenge = random_digits();
      stranger.socket.send(
          format("{}{} {}", kMeetingGreeting, stranger.host_challenge,
                 proof_of(token_, MeetingSide::kHost, stranger.guest_challenge, stranger.host_challenge)));
      return;
    }
    const std::string expected = format(
        "join {} ", proof_of(token_, MeetingSide::kGuest, stranger.guest_challenge, stranger.host_challenge));
    goes_on = same_proof(line.substr(0, expected.size()), expected);
    if (goes_on) guest = parse_introduction(line.substr(expected.size()));
    goes_on = goes_on && guest;
    if (!goes_on) {
      stranger.socket.send("stranger");
      refused("a launch that does not know the token was sent away");
    }
  });
  if (!guest) return goes_on && stranger.socket.is_open();
  std::string reason = begun_ ? "the job has begun already" : reason_to_refuse(own_, *guest, present());
  if (!reason.empty()) {
    stranger.socket.send("refused " + reason);
    refused(format("the launch on {} was sent away: {}", guest->host, reason));
    return false;
  }
  stranger.socket.send("joined");
  const auto node = static_cast<std::size_t>(guest->node);
  guests_[node] = {.introduction = *guest, .socket = std::move(stranger.socket)};
  return false;
}

int LaunchMeeting::ranks() const {
  int ranks = own_.ranks;
  for (std::size_t node = 1; node < guests_.size(); ++node) ranks += guests_[node].introduction.ranks;
  return ranks;
}

std::string LaunchMeeting::hosts() const {
  std::string hosts = format("localhost:{}", own_.ranks);
  for (std::size_t node = 1; node < guests_.size(); ++node)
    hosts += format(",{}{}:{}", kHostPrefix, node, guests_[node].introduction.ranks);
  return hosts;
}

bool LaunchMeeting::share_a_machine() const {
  std::set<std::string> hosts{own_.host};
  for (std::size_t node = 1; node < guests_.size(); ++node) hosts.insert(guests_[node].introduction.host);
  return hosts.size() < guests_.size();
}

std::optional<int> LaunchMeeting::node_of(std::string_view host) {
  if (!host.starts_with(kHostPrefix)) return std::nullopt;
  host.remove_prefix(kHostPrefix.size());
  int node = 0;
  return read_number(host, node) ? std::optional(node) : std::nullopt;
}

void LaunchMeeting::start_daemon(int node, LaunchSocket agent, std::string_view words) {
  if (node < 1 || static_cast<std::size_t>(node) >= guests_.size()) return;  // closes: the agent fails
  Guest& guest = guests_[static_cast<std::size_t>(node)];
  if (!guest.socket || guest.daemon_runs) return;
  guest.socket->send(format("start {}", words));
  guest.agent = std::move(agent);
  guest.daemon_runs = true;
}

void LaunchMeeting::hear_guest(Guest& guest, std::string_view line) {
  if (line == "stop") {
    stop_asked_ = true;
  } else if (line.starts_with("ended ")) {
    guest.daemon_runs = false;
    if (guest.agent) guest.agent->send(line);
    guest.agent.reset();
  } else if (guest.agent) {
    guest.agent->send(line);
  }
}

void LaunchMeeting::relay() {
  accept([](const std::string&) {});
  for (std::size_t node = 1; node < guests_.size(); ++node) {
    Guest& guest = guests_[node];
    if (guest.socket && guest.socket->is_open())
      guest.socket->read([&](std::string_view line) { hear_guest(guest, line); });
    if (guest.socket && !guest.socket->is_open()) {
      if (lost_.empty()) lost_ = format("node {} on {}", node, guest.introduction.host);
      guest.socket.reset();
      guest.agent.reset();
      guest.daemon_runs = false;
    }
    if (!guest.agent) continue;
    guest.agent->read([](std::string_view) {});
    if (guest.agent->is_open()) continue;
    guest.agent.reset();  // mpirun does not want the daemon any more
    if (guest.socket && guest.daemon_runs) guest.socket->send("kill");
  }
}

void LaunchMeeting::end_daemons(milliseconds patience) {
  for (Guest& guest : guests_)
    if (guest.socket && guest.daemon_runs) guest.socket->send("kill");
  const Time::time_point deadline = Time::now() + patience;
  const auto running = [&] {
    return std::ranges::any_of(guests_, [](const Guest& guest) { return guest.daemon_runs; });
  };
  while (running() && Time::now() < deadline) {
    wait(kMeetingTickMs);
    relay();
  }
}

void LaunchMeeting::finish(int exit_code, const std::string& text) {
  if (std::exchange(finished_, true)) return;
  for (Guest& guest : guests_)
    if (guest.socket) guest.socket->send(format("end {} {}", exit_code, text));
}

}  // namespace nadi::inline jobs
