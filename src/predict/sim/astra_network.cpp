#include "nadi/sim/astra_network.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>
#include <queue>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline predict {
namespace {

// The delay at the ends of messages in groups of a part of the devices, whatever the system file says.
constexpr std::int64_t kPartDelay = 10;
// A sum is written once and read twice.
constexpr std::int64_t kReductionPasses = 3;
constexpr std::int64_t kSwitchHops = 2;

std::uint64_t after(CollectiveType type, std::uint64_t bytes, std::size_t members) {
  if (type == CollectiveType::kAllGather) return bytes * members;
  if (type == CollectiveType::kReduceScatter) return bytes / members;
  return bytes;
}

bool sums(CollectiveType type) {
  return type == CollectiveType::kAllReduce || type == CollectiveType::kReduceScatter;
}

// The largest sum of `count` transfers in a row along a ring.
std::int64_t longest_way(const std::vector<std::int64_t>& times, std::int64_t count) {
  const auto n = static_cast<std::int64_t>(times.size());
  const std::int64_t rounds = count / n, rest = count % n;
  const std::int64_t sum = std::accumulate(times.begin(), times.end(), std::int64_t{0});
  std::int64_t window = std::accumulate(times.begin(), times.begin() + rest, std::int64_t{0});
  std::int64_t longest = window;
  for (std::int64_t i = 0; i < n; ++i) {
    window += times[static_cast<std::size_t>((i + rest) % n)] - times[static_cast<std::size_t>(i)];
    longest = std::max(longest, window);
  }
  return rounds * sum + longest;
}

}  // namespace

AstraNetwork::AstraNetwork(const Cluster& cluster) : devices_(cluster.device_count()), how_(*cluster.astra) {
  const NodeSpec& node = cluster.kinds.front();
  memory_bytes_per_second_ =
      cluster.devices[static_cast<std::size_t>(node.device)].memory_bandwidth.per_second();
  std::int64_t below = 1;
  const auto add = [&](const Fabric& fabric, std::int64_t members) {
    Dimension dimension{.topology = fabric.topology, .members = members, .below = below};
    double links = 1, hops = 1;
    if (fabric.topology == FabricTopology::kSwitch) hops = kSwitchHops;
    if (fabric.topology == FabricTopology::kRing) links = 2;
    if (fabric.topology == FabricTopology::kMesh)
      links = static_cast<double>(std::max<std::int64_t>(members - 1, 1));
    dimension.bytes_per_ns =
        fabric.bandwidth.per_second() * fabric.efficiency / (links * static_cast<double>(below) * 1e9);
    // Fabrics have both ends in their latency (astra_cluster.h).
    dimension.latency_ns =
        std::max(0.0, static_cast<double>((fabric.latency - how_.endpoint_delay).count()) / hops);
    dimensions_.push_back(dimension);
    below *= members;
  };
  add(node.inside, node.devices);
  for (const ClusterLevel& level : cluster.levels) add(level.fabric, level.members);
}

bool AstraNetwork::carries_out(CollectiveType type) const {
  return how_.of(type) != nullptr;
}

std::int64_t AstraNetwork::transfer(std::uint64_t bytes, std::int64_t from, std::int64_t to) const {
  for (const Dimension& dimension : dimensions_) {
    const std::int64_t a = from / dimension.below % dimension.members;
    const std::int64_t b = to / dimension.below % dimension.members;
    if (a == b) continue;
    std::int64_t hops = 1;
    if (dimension.topology == FabricTopology::kSwitch) hops = kSwitchHops;
    if (dimension.topology == FabricTopology::kRing) {
      const std::int64_t forward = (b - a + dimension.members) % dimension.members;
      hops = std::min(forward, dimension.members - forward);
    }
    return static_cast<std::int64_t>(static_cast<double>(hops) * dimension.latency_ns +
                                     static_cast<double>(bytes) / dimension.bytes_per_ns);
  }
  return 0;
}

std::int64_t AstraNetwork::reduction(std::uint64_t bytes) const {
  return kReductionPasses *
         static_cast<std::int64_t>(static_cast<double>(bytes) / memory_bytes_per_second_ * 1e9);
}

std::int64_t AstraNetwork::endpoint_delay(bool part) const {
  return part ? kPartDelay : how_.endpoint_delay.count();
}

std::int64_t AstraNetwork::phase_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const {
  switch (request.algorithm.kind) {
    case AstraAlgorithmKind::kRing:
      return ring_time(request, ring);
    case AstraAlgorithmKind::kDirect:
      return direct_time(request, ring);
    case AstraAlgorithmKind::kHalvingDoubling:
      return halving_time(request, ring);
    case AstraAlgorithmKind::kDoubleBinaryTree:
      return tree_time(request, ring);
  }
  unreachable();
}

// Each message goes to the next member when the one before has come and been summed. Of an all-reduce, the
// first half is summed. An all-to-all passes everything on, one place further each time.
std::int64_t AstraNetwork::ring_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const {
  const auto n = static_cast<std::int64_t>(ring.size());
  const std::uint64_t bytes =
      request.type == CollectiveType::kAllGather ? request.bytes : request.bytes / ring.size();
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < ring.size(); ++i)
    times.push_back(transfer(bytes, ring[i], ring[(i + 1) % ring.size()]));
  std::int64_t count = n - 1;
  if (request.type == CollectiveType::kAllReduce) count = 2 * (n - 1);
  if (request.type == CollectiveType::kAllToAll) count = n * (n - 1) / 2;
  const std::int64_t delay = endpoint_delay(request.part);
  return delay + longest_way(times, count) + count * delay +
         (sums(request.type) ? (n - 1) * reduction(bytes) : 0);
}

// Everybody to everybody, as many messages at once as the window is wide.
std::int64_t AstraNetwork::direct_time(const PhaseRequest& request,
                                       std::span<const std::int64_t> ring) const {
  const auto n = static_cast<std::int64_t>(ring.size());
  const std::uint64_t bytes =
      request.type == CollectiveType::kAllGather ? request.bytes : request.bytes / ring.size();
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < ring.size(); ++i)
    longest = std::max(longest, transfer(bytes, ring[0], ring[i]));
  const std::int64_t window =
      request.algorithm.window == 0 ? n - 1 : std::min<std::int64_t>(request.algorithm.window, n - 1);
  const std::int64_t rounds =
      (n - 1 + window - 1) / window * (request.type == CollectiveType::kAllReduce ? 2 : 1);
  // Every second round is not summed, but in groups of a part.
  const std::int64_t summed = sums(request.type) ? (request.part ? rounds : (rounds + 1) / 2) : 0;
  const std::int64_t delay = endpoint_delay(request.part);
  return delay + rounds * (longest + delay) + summed * reduction(bytes);
}

// Pairs at distances of 1, 2, 4 ... exchange halves, and back.
std::int64_t AstraNetwork::halving_time(const PhaseRequest& request,
                                        std::span<const std::int64_t> ring) const {
  const int steps = static_cast<int>(std::bit_width(ring.size())) - 1;
  const std::int64_t delay = endpoint_delay(request.part);
  const auto hop = [&](std::uint64_t bytes, int power) {
    return transfer(bytes, ring[0], ring[(std::size_t{1} << power) % ring.size()]) + delay;
  };
  std::int64_t time = delay;
  if (request.type == CollectiveType::kAllGather) {
    for (int step = 0; step < steps; ++step) time += hop(request.bytes << step, steps - 1 - step);
    return time;
  }
  const bool back = request.type == CollectiveType::kAllReduce;
  for (int step = 0; step < steps; ++step) {
    const std::uint64_t bytes = request.bytes >> (step + 1);
    time += hop(bytes, step) * (back ? 2 : 1);
    if (step > 0) time += reduction(bytes);
  }
  return time;
}

// Up a binary tree over all members but the root, to the root, and down again. A node of the tree sums when
// both its children have sent, and passes on what comes from above.
std::int64_t AstraNetwork::tree_time(const PhaseRequest& request, std::span<const std::int64_t> ring) const {
  if (request.part || !std::has_single_bit(ring.size()))
    throw Error{ErrorKind::kInfeasible,
                {},
                format("ASTRA-sim has no double binary tree for {} devices{}", ring.size(),
                       request.part ? " of a larger network" : ""),
                "its number is a power of two, and all devices take part; take ring or halvingDoubling"};
  const std::int64_t delay = endpoint_delay(false);
  const std::int64_t sum = delay + reduction(request.bytes);
  // Members 1 to n-1 are the tree in order: leaves are odd, the level of a node is the number of its zeros.
  const auto n = static_cast<std::int64_t>(ring.size());
  const auto cost = [&](std::int64_t a, std::int64_t b) {
    return transfer(request.bytes, ring[static_cast<std::size_t>(a)], ring[static_cast<std::size_t>(b)]);
  };
  std::vector<std::int64_t> up(ring.size(), delay), down(ring.size(), 0);
  for (std::int64_t half = 1; half < n / 2; half *= 2)
    for (std::int64_t node = 2 * half; node < n; node += 4 * half)
      up[static_cast<std::size_t>(node)] =
          sum + std::max(up[static_cast<std::size_t>(node - half)] + cost(node - half, node),
                         up[static_cast<std::size_t>(node + half)] + cost(node + half, node));
  const std::int64_t top = n / 2;
  const std::int64_t root = up[static_cast<std::size_t>(top)] + cost(top, 0) + sum;
  down[static_cast<std::size_t>(top)] = root + cost(0, top);
  std::int64_t longest = root;
  for (std::int64_t half = top; half >= 1; half /= 2)
    for (std::int64_t node = half; node < n; node += 2 * half) {
      const std::int64_t arrived = down[static_cast<std::size_t>(node)];
      if (half == 1) {
        longest = std::max(longest, arrived + delay);
        continue;
      }
      for (const std::int64_t child : {node - half / 2, node + half / 2})
        down[static_cast<std::size_t>(child)] = arrived + sum + cost(node, child);
    }
  return longest;
}

std::vector<AstraAlgorithm> AstraNetwork::algorithms_of(CollectiveType type) const {
  const std::vector<AstraAlgorithm>& said = *how_.of(type);
  if (!said.empty()) return said;
  return std::vector<AstraAlgorithm>(dimensions_.size());
}

std::vector<AstraNetwork::Phase> AstraNetwork::phases_of(CollectiveType type, std::uint64_t bytes,
                                                         std::span<const DeviceId> members) const {
  const std::vector<AstraAlgorithm> algorithms = algorithms_of(type);
  std::vector<Phase> phases;
  std::vector<std::int64_t> ring;
  if (static_cast<std::int64_t>(members.size()) != devices_ || algorithms.front().over_all) {
    for (const DeviceId member : members) ring.push_back(to_number(member));
    std::ranges::sort(ring);
    const bool part = static_cast<std::int64_t>(members.size()) != devices_;
    const AstraAlgorithm algorithm = algorithms.size() > 1 ? AstraAlgorithm{} : algorithms.front();
    return {{0, phase_time({type, algorithm, bytes, part}, ring)}};
  }
  const auto add = [&](std::size_t d, CollectiveType kind) {
    const Dimension& dimension = dimensions_[d];
    if (dimension.members == 1) return;
    ring.clear();
    for (std::int64_t i = 0; i < dimension.members; ++i) ring.push_back(i * dimension.below);
    phases.push_back({d, phase_time({kind, algorithms[d], bytes, false}, ring)});
    bytes = after(kind, bytes, ring.size());
  };
  const std::size_t count = std::min(dimensions_.size(), algorithms.size());
  if (type == CollectiveType::kAllReduce && how_.local_bandwidth_aware) {
    std::size_t last = count - 1;
    while (last > 0 && dimensions_[last].members == 1) --last;
    for (std::size_t d = 0; d < last; ++d) add(d, CollectiveType::kReduceScatter);
    add(last, CollectiveType::kAllReduce);
    for (std::size_t d = last; d-- > 0;) add(d, CollectiveType::kAllGather);
  } else if (type == CollectiveType::kAllGather) {
    for (std::size_t d = count; d-- > 0;) add(d, type);
  } else {
    for (std::size_t d = 0; d < count; ++d) add(d, type);
  }
  return phases;
}

Nanoseconds AstraNetwork::collective(CollectiveType type, Bytes size,
                                     std::span<const DeviceId> members) const {
  if (members.size() < 2) return {};
  const auto splits = static_cast<std::uint64_t>(how_.splits);
  auto bytes = static_cast<std::uint64_t>(size.count());
  std::uint64_t chunk = bytes / splits;
  if (type != CollectiveType::kAllGather && chunk < static_cast<std::uint64_t>(devices_)) {
    chunk = static_cast<std::uint64_t>(devices_);
    bytes = splits * chunk;
  }
  chunk = std::max<std::uint64_t>(chunk, 1);
  const std::vector<Phase> phases = phases_of(type, chunk, members);
  if (phases.empty()) return {};
  const std::uint64_t chunks = (bytes + chunk - 1) / chunk;
  // Chunks go through the phases, a few at once in each dimension, in the order in which they come.
  using End = std::tuple<std::int64_t, std::uint64_t, std::size_t>;  // time, chunk, phase
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<std::deque<std::pair<std::uint64_t, std::size_t>>> waiting(dimensions_.size());
  std::vector<std::int32_t> busy(dimensions_.size(), 0);
  std::int64_t now = 0;
  const auto start = [&](std::size_t queue) {
    while (busy[queue] < how_.active_chunks && !waiting[queue].empty()) {
      const auto [number, phase] = waiting[queue].front();
      waiting[queue].pop_front();
      ++busy[queue];
      ends.emplace(now + phases[phase].time, number, phase);
    }
  };
  for (std::uint64_t c = 0; c < chunks; ++c) waiting[phases.front().queue].emplace_back(c, 0);
  start(phases.front().queue);
  while (!ends.empty()) {
    const auto [time, number, phase] = ends.top();
    ends.pop();
    now = time;
    const std::size_t queue = phases[phase].queue;
    --busy[queue];
    if (phase + 1 < phases.size()) waiting[phases[phase + 1].queue].emplace_back(number, phase + 1);
    start(queue);
    if (phase + 1 < phases.size()) start(phases[phase + 1].queue);
  }
  return Nanoseconds{now};
}

Nanoseconds AstraNetwork::message(Bytes size, DeviceId from, DeviceId to) const {
  return Nanoseconds{transfer(static_cast<std::uint64_t>(size.count()), to_number(from), to_number(to))};
}

}  // namespace nadi::inline predict
