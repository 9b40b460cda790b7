#include "nadi/sim/network_model.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include "nadi/base/error.h"
#include "nadi/sim/astra_network.h"

namespace nadi::inline predict {
namespace {

constexpr std::size_t kCollectiveTypes = 10;

// What NCCL chooses from. Within a node its trees are chains, which take as long as rings.
std::vector<CollectiveAlgorithm> candidates(CollectiveType type, const NetworkGroup& group) {
  using Algorithm = CollectiveAlgorithm;
  switch (type) {
    case CollectiveType::kAllToAll:
    case CollectiveType::kGather:
    case CollectiveType::kScatter:
      return {Algorithm::kDirect};
    case CollectiveType::kAllReduce:
    case CollectiveType::kBarrier:
      if (group.layout.nodes.size() > 1) return {Algorithm::kRing, Algorithm::kTree};
      break;
    default:
      break;
  }
  const bool mesh = std::any_of(group.fabrics.begin(), group.fabrics.end(), [](const Fabric* fabric) {
    return fabric->topology == FabricTopology::kMesh;
  });
  if (mesh) return {Algorithm::kRing, Algorithm::kDirect};
  return {Algorithm::kRing};
}

// Who uses which shared links.
class SharedLinks {
 public:
  explicit SharedLinks(const NetworkTopology& network) : network_(network) {}

  void begin_user() { used_.emplace_back(); }
  void use(DeviceId from, DeviceId to) {
    network_.path(from, to, path_);
    for (const LinkId link : path_.links)
      if (network_.link(link).shared) used_.back().push_back(link);
  }

  std::vector<std::int32_t> sharing() {
    std::vector<std::int32_t> users(static_cast<std::size_t>(network_.link_count()));
    for (std::vector<LinkId>& links : used_) {
      std::sort(links.begin(), links.end());
      links.erase(std::unique(links.begin(), links.end()), links.end());
      for (const LinkId link : links) ++users[to_index(link)];
    }
    std::vector<std::int32_t> sharing(used_.size(), 1);
    for (std::size_t i = 0; i < used_.size(); ++i)
      for (const LinkId link : used_[i]) sharing[i] = std::max(sharing[i], users[to_index(link)]);
    return sharing;
  }

 private:
  const NetworkTopology& network_;
  std::vector<std::vector<LinkId>> used_;
  NetworkPath path_;
};

}  // namespace

class NetworkModel::State {
 public:
  State(const Cluster& described, const NetworkOptions& wanted)
      : topology(described, wanted.faults), options(wanted) {
    for (std::size_t level = 0; level < described.levels.size(); ++level)
      places_count |= described.levels[level].fabric.topology == FabricTopology::kRing;
    // A forced algorithm and failed links are of the general model.
    if (described.astra && wanted.algorithm == CollectiveAlgorithm::kAuto && wanted.faults.empty())
      astra.emplace(described);
  }

  struct Known {
    NetworkGroup group;
    std::array<std::vector<CollectiveForm>, kCollectiveTypes> forms;
  };

  // What the closed forms of a group depend on. Nodes of one kind are alike unless links have failed or nodes
  // stand in a ring.
  std::vector<std::int32_t> shape(const NetworkGroup& group) const {
    std::vector<std::int32_t> key = {group.layout.root};
    if (astra) {
      for (const DeviceId member : group.members) key.push_back(to_number(member));
      return key;
    }
    const Cluster& cluster = topology.cluster();
    const auto first_node = topology.node_of(group.members.front());
    for (const auto& members : group.layout.nodes) {
      const DeviceId first = group.members[static_cast<std::size_t>(members.front())];
      const std::int32_t node = topology.node_of(first);
      key.push_back(cluster.nodes[static_cast<std::size_t>(node)]);
      key.push_back(static_cast<std::int32_t>(members.size()));
      if (!options.faults.empty()) key.push_back(node);
      if (places_count) key.push_back(node - first_node);
      std::int32_t unit = node, first_unit = first_node;
      for (std::size_t level = 0; level + 1 < cluster.levels.size(); ++level) {
        const std::int32_t members_of_group = std::max(cluster.levels[level].members, 1);
        unit /= members_of_group;
        first_unit /= members_of_group;
        key.push_back(unit - first_unit);
      }
      const FabricTopology inside = cluster.node(node).inside.topology;
      if (!options.faults.empty() || inside == FabricTopology::kRing)
        for (const std::int32_t member : members)
          key.push_back(to_number(group.members[static_cast<std::size_t>(member)]) -
                        to_number(topology.first_device(node)));
    }
    return key;
  }

  const std::vector<CollectiveForm>& forms(Known& entry, CollectiveType type) {
    std::vector<CollectiveForm>& result = entry.forms[static_cast<std::size_t>(type)];
    if (!result.empty()) return result;
    std::vector<CollectiveAlgorithm> algorithms = {options.algorithm};
    if (options.algorithm == CollectiveAlgorithm::kAuto) algorithms = candidates(type, entry.group);
    for (const CollectiveAlgorithm algorithm : algorithms)
      for (const std::string& protocol : protocols_of(entry.group))
        result.push_back(closed_form(topology, entry.group, {type, algorithm, protocol}));
    return result;
  }

  NetworkTopology topology;
  NetworkOptions options;
  std::optional<AstraNetwork> astra;
  bool places_count = false;
  std::map<std::vector<std::int32_t>, GroupId> ids;
  std::vector<std::unique_ptr<Known>> known;
};

NetworkModel::NetworkModel(const Cluster& cluster, const NetworkOptions& options)
    : state_(std::make_unique<State>(cluster, options)) {}
NetworkModel::~NetworkModel() = default;

const NetworkTopology& NetworkModel::topology() const {
  return state_->topology;
}
const NetworkOptions& NetworkModel::options() const {
  return state_->options;
}

GroupId NetworkModel::group_of(std::span<const DeviceId> members) const {
  NetworkGroup group = network_group(state_->topology, members);
  const auto [found, added] =
      state_->ids.try_emplace(state_->shape(group), static_cast<GroupId>(state_->known.size()));
  if (added) state_->known.push_back(std::make_unique<State::Known>(State::Known{std::move(group), {}}));
  return found->second;
}

CollectiveChoice NetworkModel::choice(CollectiveType type, Bytes size, GroupId id,
                                      std::int32_t sharing) const {
  State::Known& known = *state_->known[static_cast<std::size_t>(id)];
  const NetworkGroup& group = known.group;
  if (group.layout.members < 2) return {};
  CollectiveChoice choice;
  double fastest = std::numeric_limits<double>::infinity();
  for (const CollectiveForm& form : state_->forms(known, type)) {
    const double time = form.nanoseconds(static_cast<double>(size.count()), sharing);
    if (time >= fastest) continue;
    fastest = time;
    choice.algorithm = form.algorithm;
    choice.protocol = form.protocol;
  }
  if (state_->astra && state_->astra->carries_out(type)) {
    choice.time = state_->astra->collective(type, size, group.members);
    return choice;
  }
  if (group.layout.nodes.size() == 1) {
    const Cluster& cluster = state_->topology.cluster();
    const Fabric& inside = cluster.node(state_->topology.node_of(group.members.front())).inside;
    if (const auto time = inside.measured.collective(type, group.layout.members, size)) {
      choice.time = *time * sharing;
      choice.measured = true;
      return choice;
    }
  }
  choice.time = whole_nanoseconds(fastest);
  return choice;
}

Nanoseconds NetworkModel::collective(CollectiveType type, Bytes size, GroupId group,
                                     std::int32_t sharing) const {
  return choice(type, size, group, sharing).time;
}

Nanoseconds NetworkModel::collective(const CollectiveRequest& request) const {
  if (request.members.size() < 2) return {};
  return collective(request.type, request.size, group_of(request.members), request.sharing);
}

Nanoseconds NetworkModel::message(Bytes size, DeviceId from, DeviceId to, std::int32_t sharing) const {
  return message_choice(size, from, to, sharing).time;
}

CollectiveChoice NetworkModel::message_choice(Bytes size, DeviceId from, DeviceId to,
                                              std::int32_t sharing) const {
  const NetworkTopology& network = state_->topology;
  CollectiveChoice choice{.time = {}, .algorithm = CollectiveAlgorithm::kDirect};
  if (state_->astra) {
    choice.time = state_->astra->message(size, from, to);
    return choice;
  }
  const NetworkPath path = network.path(from, to);
  if (path.links.empty()) return choice;
  if (network.node_of(from) == network.node_of(to)) {
    const Fabric& inside = network.cluster().node(network.node_of(from)).inside;
    if (const auto time = inside.measured.message(size)) {
      choice.time = *time * sharing;
      choice.measured = true;
      return choice;
    }
  }
  const Fabric& fabric = network.fabric_between(from, to);
  static const std::vector<FabricProtocol> kPlain(1);
  double fastest = std::numeric_limits<double>::infinity();
  for (const FabricProtocol& protocol : fabric.protocols.empty() ? kPlain : fabric.protocols) {
    double per_byte = 0;
    for (const LinkId id : path.links) {
      const NetworkLink& link = network.link(id);
      const double share = protocol_of(*link.fabric, protocol.name).share;
      per_byte =
          std::max(per_byte, (link.shared ? sharing : 1) * 1e9 / (link.bandwidth.per_second() * share));
    }
    const double time = static_cast<double>((path.latency + protocol.overhead + protocol.step).count()) +
                        static_cast<double>(size.count()) * per_byte;
    if (time >= fastest) continue;
    fastest = time;
    choice.protocol = protocol.name;
  }
  choice.time = whole_nanoseconds(fastest);
  return choice;
}

std::vector<std::int32_t> NetworkModel::sharing_of(std::span<const std::vector<DeviceId>> groups) const {
  SharedLinks shared(state_->topology);
  for (const std::vector<DeviceId>& group : groups) {
    std::vector<DeviceId> members = group;
    std::sort(members.begin(), members.end());
    shared.begin_user();
    for (std::size_t i = 0; i < members.size() && members.size() > 1; ++i)
      shared.use(members[i], members[(i + 1) % members.size()]);
  }
  return shared.sharing();
}

std::vector<std::int32_t> NetworkModel::sharing_of(std::span<const MessageEnds> messages) const {
  SharedLinks shared(state_->topology);
  for (const MessageEnds& message : messages) {
    shared.begin_user();
    shared.use(message.from, message.to);
  }
  return shared.sharing();
}

void NetworkModel::add_traffic(const CollectiveRequest& request, std::vector<double>& bytes) const {
  if (request.members.size() < 2) return;
  bytes.resize(static_cast<std::size_t>(state_->topology.link_count()));
  const CollectiveChoice chosen =
      choice(request.type, request.size, group_of(request.members), request.sharing);
  const NetworkGroup group = network_group(state_->topology, request.members);
  std::vector<double> load(bytes.size());
  for (const ScheduleStep& step : schedule_of(request.type, chosen.algorithm, group.layout).steps)
    add_load(state_->topology, group, step, load);
  for (std::size_t i = 0; i < load.size(); ++i)
    bytes[i] += load[i] * static_cast<double>(request.size.count());
}

void NetworkModel::add_traffic(Bytes size, DeviceId from, DeviceId to, std::vector<double>& bytes) const {
  bytes.resize(static_cast<std::size_t>(state_->topology.link_count()));
  for (const LinkId link : state_->topology.path(from, to).links)
    bytes[to_index(link)] += static_cast<double>(size.count());
}

}  // namespace nadi::inline predict
