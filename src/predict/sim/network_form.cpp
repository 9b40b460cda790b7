#include "nadi/sim/network_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {
namespace {

// Up to so many members everybody's transfers to everybody are looked at one by one. Beyond, so many partners
// of each at equal distances stand for all: on a tree of switches this is wrong by about a node's members
// over all members.
constexpr std::int32_t kMostPairsMembers = 512;
constexpr std::int32_t kSampledPartners = 16;

DeviceId device_at(const NetworkGroup& group, std::int32_t member) {
  return group.members[static_cast<std::size_t>(member)];
}

void add_path(const NetworkTopology& network, DeviceId from, DeviceId to, double share, NetworkPath& path,
              std::vector<double>& load) {
  network.path(from, to, path);
  for (const LinkId link : path.links) load[to_index(link)] += share;
}

template <typename Visit>
void for_pairs(const NetworkGroup& group, const std::vector<std::int32_t>& members, const Visit& visit) {
  const std::int32_t n = static_cast<std::int32_t>(members.size());
  const auto at = [&](std::int32_t i) { return device_at(group, members[static_cast<std::size_t>(i % n)]); };
  if (n <= kMostPairsMembers) {
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t step = 1; step < n; ++step) visit(at(i), at(i + step), 1.0);
    return;
  }
  const double weight = static_cast<double>(n - 1) / (kSampledPartners - 1);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int64_t partner = 1; partner < kSampledPartners; ++partner)
      visit(at(i), at(i + static_cast<std::int32_t>(partner * n / kSampledPartners)), weight);
}

// The sum over a ring without its shortest link; the largest where there are several rings.
double ring_latency(const NetworkTopology& network, const NetworkGroup& group, const ScheduleStep& step,
                    const std::string& protocol) {
  std::vector<std::int32_t> next(group.members.size(), -1);
  for (const ScheduledTransfer& transfer : step.transfers) {
    std::int32_t& after = next[static_cast<std::size_t>(transfer.from)];
    if (after < 0) after = transfer.to;
  }
  double longest = 0;
  for (std::size_t start = 0; start < next.size(); ++start) {
    if (next[start] < 0) continue;
    double sum = 0, shortest = std::numeric_limits<double>::infinity();
    std::int32_t hops = 0;
    for (std::size_t at = start; next[at] >= 0;) {
      const std::size_t to = static_cast<std::size_t>(next[at]);
      const double latency = transfer_latency(network, group.members[at], group.members[to], protocol);
      sum += latency;
      shortest = std::min(shortest, latency);
      ++hops;
      next[at] = -1;
      at = to;
    }
    longest = std::max(longest, (sum - shortest) * step.repeat / std::max(hops - 1, 1));
  }
  return longest;
}

double step_latency(const NetworkTopology& network, const NetworkGroup& group, const ScheduleStep& step,
                    const std::string& protocol) {
  double longest = 0;
  switch (step.order) {
    case TransferOrder::kRing:
      return ring_latency(network, group, step, protocol);
    case TransferOrder::kPipelined:
      for (const double latency : pipelined_latencies(network, group, step, protocol))
        longest = std::max(longest, latency);
      return longest;
    case TransferOrder::kTogether:
      break;
  }
  for (const ScheduledTransfer& transfer : step.transfers)
    longest = std::max(longest, transfer_latency(network, device_at(group, transfer.from),
                                                 device_at(group, transfer.to), protocol));
  for (const auto& members : step.all_pairs)
    for_pairs(group, members, [&](DeviceId from, DeviceId to, double) {
      longest = std::max(longest, transfer_latency(network, from, to, protocol));
    });
  return longest * step.repeat;
}

// Nanoseconds per byte of the slowest pass through local memory among the members' nodes.
double local_per_byte(const NetworkTopology& network, const NetworkGroup& group) {
  double slowest = 0;
  for (const auto& node : group.layout.nodes) {
    const Fabric& inside = network.cluster().node(network.node_of(device_at(group, node.front()))).inside;
    const double rate = inside.local_bandwidth.per_second();
    if (rate > 0) slowest = std::max(slowest, 1e9 / rate);
  }
  return slowest;
}

double step_weight(const ScheduleStep& step) {
  double weight = 0;
  for (const ScheduledTransfer& transfer : step.transfers) weight = std::max(weight, transfer.share);
  for (const auto& members : step.all_pairs)
    weight = std::max(weight, step.pair_share * static_cast<double>(members.size() - 1));
  return weight * step.repeat;
}

}  // namespace

NetworkGroup network_group(const NetworkTopology& network, std::span<const DeviceId> members) {
  check(!members.empty(), "a group without members");
  NetworkGroup group;
  group.members.assign(members.begin(), members.end());
  std::sort(group.members.begin(), group.members.end());
  if (const auto twice = std::adjacent_find(group.members.begin(), group.members.end());
      twice != group.members.end())
    throw Error{ErrorKind::kInput, {}, format("device {} is twice in one group", to_number(*twice))};
  const std::size_t n = group.members.size();
  group.layout.members = static_cast<std::int32_t>(n);
  group.layout.root = static_cast<std::int32_t>(
      std::lower_bound(group.members.begin(), group.members.end(), members.front()) - group.members.begin());
  NetworkPath path;
  std::int32_t node = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (const std::int32_t now = network.node_of(group.members[i]); now != node) {
      group.layout.nodes.emplace_back();
      node = now;
    }
    group.layout.nodes.back().push_back(static_cast<std::int32_t>(i));
    if (n == 1) break;
    network.path(group.members[i], group.members[(i + 1) % n], path);
    for (const LinkId link : path.links) {
      const Fabric* fabric = network.link(link).fabric;
      if (std::find(group.fabrics.begin(), group.fabrics.end(), fabric) == group.fabrics.end())
        group.fabrics.push_back(fabric);
    }
  }
  for (const Fabric* fabric : group.fabrics)
    if (fabric->topology == FabricTopology::kRing || fabric->topology == FabricTopology::kMesh)
      group.layout.both_ways = !network.cluster().astra;  // there rings go one way
  return group;
}

Nanoseconds whole_nanoseconds(double nanoseconds) {
  // Sums of products of numbers of 53 bits: what is less than a thousandth above a whole number is that
  // number.
  const double rounded = std::ceil(nanoseconds - 1e-3);
  if (!(rounded < 9.2e18)) throw_overflow(NanosecondUnit::kName);
  return Nanoseconds{static_cast<std::int64_t>(std::max(rounded, 0.0))};
}

std::vector<std::string> protocols_of(const NetworkGroup& group) {
  std::vector<std::string> names;
  for (const Fabric* fabric : group.fabrics)
    for (const FabricProtocol& protocol : fabric->protocols)
      if (std::find(names.begin(), names.end(), protocol.name) == names.end()) names.push_back(protocol.name);
  if (names.empty()) names.emplace_back();
  return names;
}

FabricProtocol protocol_of(const Fabric& fabric, const std::string& name) {
  for (const FabricProtocol& protocol : fabric.protocols)
    if (protocol.name == name) return protocol;
  return {.name = name};
}

double local_passes(CollectiveType type, std::int32_t members) {
  switch (type) {
    case CollectiveType::kAllReduce:
      return 2;
    case CollectiveType::kAllGather:
      return members;
    case CollectiveType::kReduceScatter:
    case CollectiveType::kReduceScatterBlock:
    case CollectiveType::kAllToAll:
    case CollectiveType::kBroadcast:
    case CollectiveType::kReduce:
      return 1;
    case CollectiveType::kGather:
    case CollectiveType::kScatter:
    case CollectiveType::kBarrier:
      break;
  }
  return 0;
}

double transfer_latency(const NetworkTopology& network, DeviceId from, DeviceId to,
                        const std::string& protocol) {
  NetworkPath path;
  network.path(from, to, path);
  Nanoseconds latency = path.latency;
  if (!protocol.empty()) latency += protocol_of(network.fabric_between(from, to), protocol).step;
  return static_cast<double>(latency.count());
}

void transfers_on_network(const NetworkTopology& network, const NetworkGroup& group, const ScheduleStep& step,
                          const ScheduledTransfer& transfer, std::vector<DeviceTransfer>& result) {
  result.clear();
  const DeviceId from = device_at(group, transfer.from), to = device_at(group, transfer.to);
  const std::int32_t a = network.node_of(from), b = network.node_of(to);
  if (!step.striped || a == b) {
    result.push_back({from, to, transfer.share});
    return;
  }
  const auto& nodes = group.layout.nodes;
  const auto members_of = [&](std::int32_t member) -> const std::vector<std::int32_t>& {
    return *std::prev(
        std::upper_bound(nodes.begin(), nodes.end(), member,
                         [](std::int32_t value, const auto& node) { return value < node.front(); }));
  };
  const auto &here = members_of(transfer.from), &there = members_of(transfer.to);
  const std::size_t stripes = std::min(here.size(), there.size());
  for (std::size_t i = 0; i < stripes; ++i)
    result.push_back({device_at(group, here[i]), device_at(group, there[i]),
                      transfer.share / static_cast<double>(stripes)});
}

std::vector<double> pipelined_latencies(const NetworkTopology& network, const NetworkGroup& group,
                                        const ScheduleStep& step, const std::string& protocol) {
  std::vector<double> at_end(step.transfers.size(), 0);
  std::vector<double> own;
  for (const ScheduledTransfer& transfer : step.transfers)
    own.push_back(
        transfer_latency(network, device_at(group, transfer.from), device_at(group, transfer.to), protocol));
  for (const std::int32_t tree : {1, 2}) {
    std::vector<double> reached(group.members.size(), 0);
    for (bool changed = true; changed;) {  // once for chains, as often as a tree is deep
      changed = false;
      for (std::size_t i = 0; i < own.size(); ++i) {
        const ScheduledTransfer& transfer = step.transfers[i];
        if (transfer.tree != 0 && transfer.tree != tree) continue;
        const double end = reached[static_cast<std::size_t>(transfer.from)] + own[i];
        at_end[i] = std::max(at_end[i], end);
        double& known = reached[static_cast<std::size_t>(transfer.to)];
        if (end > known) {
          known = end;
          changed = true;
        }
      }
    }
  }
  return at_end;
}

void add_load(const NetworkTopology& network, const NetworkGroup& group, const ScheduleStep& step,
              std::vector<double>& load) {
  NetworkPath path;
  std::vector<DeviceTransfer> parts;
  for (const ScheduledTransfer& transfer : step.transfers) {
    transfers_on_network(network, group, step, transfer, parts);
    for (const DeviceTransfer& part : parts)
      add_path(network, part.from, part.to, part.share * step.repeat, path, load);
  }
  for (const auto& members : step.all_pairs)
    for_pairs(group, members, [&](DeviceId from, DeviceId to, double weight) {
      add_path(network, from, to, step.pair_share * weight * step.repeat, path, load);
    });
}

double CollectiveForm::nanoseconds(double bytes, double sharing) const {
  double time = fixed;
  for (const Term& term : terms) time += bytes * term.per_byte(sharing);
  return time;
}

Nanoseconds CollectiveForm::time(Bytes size, double sharing) const {
  return whole_nanoseconds(nanoseconds(static_cast<double>(size.count()), sharing));
}

CollectiveForm closed_form(const NetworkTopology& network, const NetworkGroup& group,
                           const FormRequest& request) {
  const CollectiveSchedule schedule = schedule_of(request.type, request.algorithm, group.layout);
  CollectiveForm form{.algorithm = schedule.algorithm, .protocol = request.protocol, .fixed = 0, .terms = {}};
  Nanoseconds overhead{};
  for (const Fabric* fabric : group.fabrics)
    overhead = std::max(overhead, protocol_of(*fabric, request.protocol).overhead);
  form.fixed = static_cast<double>(overhead.count());

  double weights = 0;
  for (const ScheduleStep& step : schedule.steps) weights += step_weight(step);
  const double local = local_passes(request.type, group.layout.members) * local_per_byte(network, group);
  std::vector<double> load(static_cast<std::size_t>(network.link_count()));
  for (const ScheduleStep& step : schedule.steps) {
    form.fixed += step_latency(network, group, step, request.protocol);
    std::fill(load.begin(), load.end(), 0);
    add_load(network, group, step, load);
    CollectiveForm::Term term;
    for (std::size_t i = 0; i < load.size(); ++i) {
      if (load[i] == 0) continue;
      const NetworkLink& link = network.link(LinkId{static_cast<std::int32_t>(i)});
      const double share = protocol_of(*link.fabric, request.protocol).share;
      double& busiest = link.shared ? term.shared : link.level == 0 ? term.inside : term.card;
      busiest = std::max(busiest, load[i] * 1e9 / (link.bandwidth.per_second() * share));
    }
    if (weights > 0) term.local = local * step_weight(step) / weights;
    form.terms.push_back(term);
  }
  return form;
}

}  // namespace nadi::inline predict
