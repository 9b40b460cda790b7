#include "nadi/cli/launch_nodes.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/command_line/flags.h"

namespace nadi::inline show {
namespace {

constexpr int kMostNodes = 4096;
constexpr int kLastPort = 65535;

// "2", or "2:2" of torchrun's range of numbers.
int number_of_nodes(const Flags& flags) {
  const std::string text = flags.text("--nnodes").value_or("1");
  const auto number_in = [&](std::string_view digits) {
    int number = 0;
    if (!read_number(digits, number) || number < 1 || number > kMostNodes)
      throw usage_error(
          format("--nnodes takes a number of machines from 1 to {}, not '{}'", kMostNodes, text));
    return number;
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return number_in(text);
  const int least = number_in(std::string_view(text).substr(0, colon));
  const int most = number_in(std::string_view(text).substr(colon + 1));
  if (least != most)
    throw usage_error(format("--nnodes {}: the number of machines of a job is fixed", text),
                      format("--nnodes {}", most));
  return most;
}

}  // namespace

void add_node_flags(Flags& flags) {
  FlagHeading group(flags, "several machines, as torchrun has them");
  group.value("--nproc-per-node", "N", "ranks on this machine", "--ranks");
  group.value("--nnodes", "N",
              "machines of the job: on each, the same launch is started by hand, with its --node-rank", "1");
  group.value("--node-rank", "K", "number of this machine, from 0", "0");
  group.value("--master-addr", "HOST", "where the launches meet: the machine of --node-rank 0", "127.0.0.1");
  group.value("--master-port", "PORT", "and at which port", format("{}", MeetingPlace{}.port));
  group.value("--join-timeout", "SECONDS", "how long a launch waits for the others",
              format("{}", LaunchNodes{}.patience.count()));
}

LaunchNodes resolve_nodes(const Flags& flags) {
  LaunchNodes nodes{.ranks = flags.integer("--nproc-per-node"), .nodes = number_of_nodes(flags)};
  const std::int64_t node = flags.integer("--node-rank", 0).value_or(0);
  if (node >= nodes.nodes)
    throw usage_error(format("--node-rank {}: the machines of --nnodes {} are 0 to {}", node, nodes.nodes,
                             nodes.nodes - 1));
  nodes.node = static_cast<int>(node);
  if (const auto address = flags.text("--master-addr")) nodes.place.address = *address;
  const std::int64_t port = flags.integer("--master-port").value_or(nodes.place.port);
  if (port > kLastPort) throw usage_error(format("--master-port {}: the last port is {}", port, kLastPort));
  nodes.place.port = static_cast<int>(port);
  constexpr std::int64_t kLongestWait = 1'000'000;  // seconds: eleven days
  nodes.patience = std::chrono::seconds(
      std::min(flags.integer("--join-timeout").value_or(nodes.patience.count()), kLongestWait));
  return nodes;
}

}  // namespace nadi::inline show
