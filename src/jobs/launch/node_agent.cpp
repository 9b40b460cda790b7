#include "nadi/launch/node_agent.h"

#include <poll.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/launch_meeting.h"
#include "nadi/launch/launch_socket.h"
#include "nadi/launch/node_introduction.h"
#include "nadi/launch/rank_supervisor.h"

namespace nadi::inline jobs {
namespace {

constexpr int kAgentFailed = 1;
constexpr int kAgentWaits = -1;

int relay_daemon(LaunchSocket socket) {
  std::optional<int> end;
  constexpr std::string_view kSaid = "said ", kEnded = "ended ";
  while (!end && socket.is_open()) {
    pollfd entry{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
    poll(&entry, 1, kAgentWaits);
    socket.read([&](std::string_view line) {
      if (line.starts_with(kSaid))
        std::fprintf(stderr, "%s\n", std::string(line.substr(kSaid.size())).c_str());
      if (!line.starts_with(kEnded)) return;
      int code = kAgentFailed;
      std::from_chars(line.data() + kEnded.size(), line.data() + line.size(), code);
      end = code;
    });
  }
  return end.value_or(kAgentFailed);
}

}  // namespace

int reach_node(const std::vector<std::string>& arguments) {
  try {
    const char* const contact = std::getenv(std::string(kContactVariable).c_str());
    const auto node = arguments.empty() ? std::nullopt : LaunchMeeting::node_of(arguments.front());
    if (contact == nullptr || !node)
      throw usage_error(format("'{}' is what mpirun starts for 'nadi launch'", kAgentWord));
    const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
    return relay_daemon(
        connect_to_launcher(contact, format("{}{} {}", kAgentGreeting, *node, words_to_line(words))));
  } catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return exit_code(error.kind());
  }
}

}  // namespace nadi::inline jobs
