#include "nadi/plan/plan_network.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"

namespace nadi::inline predict {
namespace {

// A node of the placement: it has the ranks from `first` to `end`, on devices that follow one another.
struct PlacedNode {
  std::int64_t first = 0, end = 0;
  std::int32_t kind = 0;
  std::int32_t number = 0;  // in the cluster
  std::int32_t device = 0;  // its first
};

struct NumbersHash {
  std::size_t operator()(std::span<const std::int64_t> numbers) const {
    std::uint64_t hash = numbers.size();
    for (const std::int64_t number : numbers) hash = hash_with(hash, static_cast<std::uint64_t>(number));
    return hash;
  }
  std::size_t operator()(const std::vector<std::int64_t>& numbers) const {
    return (*this)(std::span<const std::int64_t>(numbers));
  }
  std::size_t operator()(const std::array<std::int64_t, 4>& numbers) const {
    return (*this)(std::span<const std::int64_t>(numbers));
  }
};

std::int64_t overlap(std::int64_t first, std::int64_t end, std::int64_t other_first, std::int64_t other_end) {
  return std::max<std::int64_t>(0, std::min(end, other_end) - std::max(first, other_first));
}

template <typename Value>
void add_once(std::vector<Value>& list, const Value& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace

class PlanNetwork::State {
 public:
  State(const Cluster& cluster, CollectiveAlgorithm algorithm)
      : cluster_(cluster), model_(cluster, {.algorithm = algorithm}) {
    by_kind_.resize(cluster.kinds.size());
    std::int32_t device = 0;
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
      const auto kind = static_cast<std::size_t>(cluster.nodes[n]);
      by_kind_[kind].push_back({static_cast<std::int32_t>(n), device});
      device += cluster.kinds[kind].devices;
    }
    // One fabric with a port for each node: nodes of a kind are alike, and who shares a port is a matter of
    // counting. In others what is shared above the ports of nodes is left out.
    alike_ = cluster.levels.size() <= 1 &&
             (cluster.levels.empty() || cluster.levels[0].fabric.topology == FabricTopology::kSwitch);
  }

  const PlacedPlan& place(const Plan& plan, std::span<const NodeRun> runs) {
    const std::array degrees{plan.tp, plan.cp, plan.dp, plan.pp, plan.virtual_stages};
    if (degrees == degrees_ && std::ranges::equal(runs, runs_)) return placed_;
    degrees_ = degrees;
    runs_.assign(runs.begin(), runs.end());
    plan_ = &plan;
    per_stage_ = plan.world_size() / plan.pp;
    lay_nodes(runs);
    check(nodes_.back().end >= plan.world_size(), "the runs of a plan have a device for each rank");
    placed_.stages.resize(static_cast<std::size_t>(plan.pp));
    for (std::int64_t s = 0; s < plan.pp; ++s) place_stage(s);
    place_messages();
    placed_.embedding.clear();
    if (plan.pp > 1) place_embedding();
    placed_.model = {};
    if (plan.tp * plan.pp > 1)
      placed_.model = {.group = group_of({.first = 0, .end = plan.tp, .step = per_stage_, .times = plan.pp}),
                       .members = static_cast<std::int32_t>(plan.tp * plan.pp)};
    return placed_;
  }

  Nanoseconds collective(CollectiveType type, Bytes size, const GroupUse& use) {
    if (use.members < 2 || size == Bytes{}) return {};
    const auto [entry, fresh] = collectives_.try_emplace(
        {static_cast<std::int64_t>(type), size.count(), static_cast<std::int64_t>(use.group), use.sharing});
    if (fresh) entry->second = model_.collective(type, size, use.group, use.sharing);
    return entry->second;
  }

  Nanoseconds message(Bytes size, const MessageWay& way) {
    if (!alike_) return model_.message(size, way.from, way.to, way.sharing);
    const auto [entry, fresh] = messages_.try_emplace({way.kinds, way.sharing, size.count(), 0});
    if (fresh) entry->second = model_.message(size, way.from, way.to, way.sharing);
    return entry->second;
  }

 private:
  void lay_nodes(std::span<const NodeRun> runs) {
    nodes_.clear();
    taken_.assign(by_kind_.size(), 0);
    std::int64_t rank = 0;
    for (const NodeRun& run : runs) {
      const auto kind = static_cast<std::size_t>(run.kind);
      for (std::int32_t i = 0; i < run.count; ++i) {
        const auto& [number, device] = by_kind_[kind][taken_[kind]++];
        nodes_.push_back(
            {.first = rank, .end = rank + run.devices, .kind = run.kind, .number = number, .device = device});
        rank += run.devices;
      }
    }
  }

  std::size_t node_at(std::int64_t rank) const {
    const auto after = std::ranges::upper_bound(nodes_, rank, {}, &PlacedNode::first);
    return static_cast<std::size_t>(after - nodes_.begin()) - 1;
  }
  DeviceId device_at(std::int64_t rank) const {
    const PlacedNode& node = nodes_[node_at(rank)];
    return DeviceId{node.device + static_cast<std::int32_t>(rank - node.first)};
  }

  // Ranks from `first` to `end`, and those `step`, 2 * `step`, ... after them.
  struct RankRuns {
    std::int64_t first = 0, end = 1;
    std::int64_t step = 1, times = 1;
  };
  GroupId group_of(const RankRuns& runs) {
    constexpr std::int64_t kRuns = -1;  // no size of use_of()
    key_ = {kRuns};
    std::size_t before = nodes_.size();
    const auto for_parts = [&](auto&& visit) {
      for (std::int64_t i = 0; i < runs.times; ++i)
        for (std::int64_t rank = runs.first + i * runs.step; rank < runs.end + i * runs.step;) {
          const std::size_t n = node_at(rank);
          const std::int64_t here = std::min(runs.end + i * runs.step, nodes_[n].end) - rank;
          visit(n, rank, here);
          rank += here;
        }
    };
    for_parts([&](std::size_t n, std::int64_t rank, std::int64_t here) {
      if (n != before || !alike_) {
        key_.push_back(nodes_[n].kind);
        key_.push_back(0);
      }
      key_.back() += here;
      if (!alike_) key_.insert(key_.end(), {nodes_[n].number, rank - nodes_[n].first});
      before = n;
    });
    const auto known = groups_.find(key_);
    if (known != groups_.end()) return known->second;
    members_.clear();
    for_parts([&](std::size_t n, std::int64_t rank, std::int64_t here) {
      for (std::int64_t i = 0; i < here; ++i)
        members_.push_back(
            DeviceId{nodes_[n].device + static_cast<std::int32_t>(rank + i - nodes_[n].first)});
    });
    return groups_.emplace(key_, model_.group_of(members_)).first->second;
  }

  bool has_bus(const PlacedNode& node) const {
    return cluster_.kinds[static_cast<std::size_t>(node.kind)].inside.topology == FabricTopology::kBus;
  }

  // How many groups of `size` ranks, each `step` after the other, have members both in the node and out of
  // it; they stand in blocks of size * step ranks, all over the plan.
  std::int64_t leaving(const PlacedNode& node, std::int64_t size, std::int64_t step, bool within) const {
    const std::int64_t block = size * step;
    const std::int64_t end = std::min(node.end, plan_->world_size());
    std::int64_t groups = 0;
    for (std::int64_t first = node.first / block * block; first < end; first += block) {
      const std::int64_t begin = std::max(first, node.first), until = std::min(first + block, end);
      const std::int64_t inside = until - begin;
      // Residues that have all of their ranks here do not leave.
      const std::int64_t touched = std::min(step, inside);
      const std::int64_t whole = std::max<std::int64_t>(0, step - (block - inside));
      groups += within ? touched : touched - whole;
      if (inside == block && end - first > 2 * block) {
        // Blocks that lie within the node are alike.
        const std::int64_t more = (end - first) / block - 1;
        groups += within ? more * step : 0;
        first += more * block;
      }
    }
    return groups;
  }

  // Sharing of a group that lies in these nodes.
  std::int32_t sharing_in(std::span<const std::size_t> nodes, std::int64_t size, std::int64_t step) const {
    std::int64_t most = 1;
    for (const std::size_t n : nodes) {
      const PlacedNode& node = nodes_[n];
      if (nodes.size() > 1) most = std::max(most, leaving(node, size, step, false));
      if (has_bus(node)) most = std::max(most, leaving(node, size, step, true));
    }
    return static_cast<std::int32_t>(most);
  }

  GroupUse use_of(std::int64_t first, std::int64_t size, std::int64_t step) {
    if (size < 2) return {};
    members_.clear();
    touched_.clear();
    key_ = {size, step};
    for (std::int64_t i = 0; i < size;) {
      const std::int64_t rank = first + i * step;
      const std::size_t n = node_at(rank);
      const PlacedNode& node = nodes_[n];
      const std::int64_t here = std::min(size - i, (node.end - rank + step - 1) / step);
      touched_.push_back(n);
      key_.push_back(node.kind);
      key_.push_back(here);
      if (!alike_) key_.insert(key_.end(), {node.number, rank - node.first});
      i += here;
    }
    GroupUse use{.members = static_cast<std::int32_t>(size)};
    auto known = groups_.find(key_);
    if (known == groups_.end()) {
      for (std::int64_t i = 0; i < size; ++i) members_.push_back(device_at(first + i * step));
      known = groups_.emplace(key_, model_.group_of(members_)).first;
    }
    use.group = known->second;
    use.sharing = sharing_in(touched_, size, step);
    return use;
  }

  // Whether groups lie in a node as in the one before it, and that one is not the stage's first.
  bool is_like_before(std::size_t n, std::int64_t first, std::int64_t end) const {
    if (n == 0 || nodes_[n - 1].first < first || nodes_[n].end > end) return false;
    const PlacedNode& node = nodes_[n];
    const PlacedNode& before = nodes_[n - 1];
    return n >= 2 && nodes_[n - 2].first >= first && nodes_[n - 2].kind == node.kind &&
           before.kind == node.kind && before.end - before.first == node.end - node.first &&
           (node.end - node.first) % plan_->tp == 0 && (node.first - first) % plan_->tp == 0;
  }

  void place_stage(std::int64_t s) {
    PlacedStage& stage = placed_.stages[static_cast<std::size_t>(s)];
    stage.ranks.clear();
    stage.data.clear();
    const std::int64_t first = s * per_stage_, end = first + per_stage_;
    bool known = true;
    std::int64_t memory = 0;
    // One tensor-parallel group for each kind of node, and those that lie across nodes.
    std::int64_t looked_at = -1;
    for (std::size_t n = node_at(first); n < nodes_.size() && nodes_[n].first < end; ++n) {
      const PlacedNode& node = nodes_[n];
      if (alike_ && is_like_before(n, first, end)) continue;
      const std::int32_t device = cluster_.kinds[static_cast<std::size_t>(node.kind)].device;
      const std::int64_t size = cluster_.devices[static_cast<std::size_t>(device)].memory.count();
      known &= size > 0;
      memory = memory == 0 ? size : std::min(memory, size);
      // Groups that begin in this node: the first, and the last, which may leave it.
      const std::int64_t begin = std::max(node.first, first), until = std::min(node.end, end);
      const std::int64_t group = (begin - first) / plan_->tp;
      const std::int64_t last = (until - 1 - first) / plan_->tp;
      for (const std::int64_t g : {group, group + 1 < last ? group + 1 : group, last}) {
        if (g == looked_at && stage.ranks.size() > 0 && stage.ranks.back().device == device) continue;
        looked_at = g;
        add_once(stage.ranks, {.device = device, .tensor = use_of(first + g * plan_->tp, plan_->tp, 1)});
      }
    }
    stage.memory = Bytes{known ? memory : 0};
    stage.context = {};
    if (plan_->cp > 1) stage.context = use_of(first, plan_->cp, plan_->tp);
    const std::int64_t data = plan_->dp * plan_->cp;
    if (data > 1) {
      // Context-parallel ranks hold the same parameters: the group strides over tensor-parallel ranks.
      add_once(stage.data, use_of(first, data, plan_->tp));
      if (plan_->tp > 1) add_once(stage.data, use_of(first + plan_->tp - 1, data, plan_->tp));
    }
  }

  // Messages from rank r to r + distance, for all r from `from` to `until`: each kind once.
  void add_ways(std::vector<MessageWay>& ways, std::int64_t from, std::int64_t until, std::int64_t distance) {
    ways.clear();
    for (std::int64_t rank = from; rank < until;) {
      const PlacedNode& sender = nodes_[node_at(rank)];
      const PlacedNode& receiver = nodes_[node_at(rank + distance)];
      const std::int64_t next = std::min({until, sender.end, receiver.end - distance});
      const bool same = sender.number == receiver.number;
      MessageWay way{
          .from = DeviceId{sender.device + static_cast<std::int32_t>(rank - sender.first)},
          .to = DeviceId{receiver.device + static_cast<std::int32_t>(rank + distance - receiver.first)},
          .sharing = sharing_of_way(sender, receiver, distance),
          .kinds = (sender.kind * 4096 + receiver.kind) * 2 + (same ? 1 : 0)};
      const auto alike = [&](const MessageWay& other) {
        return other.kinds == way.kinds && other.sharing == way.sharing;
      };
      if (!alike_ || std::ranges::none_of(ways, alike)) ways.push_back(way);
      rank = next;
    }
  }

  // All messages over a distance are under way at once: those of all stages, or from the last to the first.
  std::int32_t sharing_of_way(const PlacedNode& sender, const PlacedNode& receiver,
                              std::int64_t distance) const {
    const std::int64_t world = plan_->world_size();
    const std::int64_t first = distance > 0 ? 0 : -distance, end = distance > 0 ? world - distance : world;
    const auto sent_by = [&](const PlacedNode& node) { return overlap(node.first, node.end, first, end); };
    // How many of those stay.
    const auto staying = [&](const PlacedNode& node) {
      const std::int64_t begin = std::max(node.first, first), until = std::min(node.end, end);
      return overlap(begin, until, node.first - distance, node.end - distance);
    };
    if (sender.number == receiver.number)
      return has_bus(sender) ? static_cast<std::int32_t>(std::max<std::int64_t>(1, staying(sender))) : 1;
    const std::int64_t out = sent_by(sender) - staying(sender);
    const std::int64_t in =
        overlap(receiver.first, receiver.end, first + distance, end + distance) - staying(receiver);
    return static_cast<std::int32_t>(std::max<std::int64_t>(1, std::max(out, in)));
  }

  void place_messages() {
    const std::int64_t boundaries = plan_->pp == 1              ? 0
                                    : plan_->virtual_stages > 1 ? plan_->pp
                                                                : plan_->pp - 1;
    placed_.up.resize(static_cast<std::size_t>(boundaries));
    placed_.down.resize(placed_.up.size());
    for (std::int64_t s = 0; s < boundaries; ++s) {
      const std::int64_t first = s * per_stage_;
      const std::int64_t distance = s + 1 < plan_->pp ? per_stage_ : -(plan_->pp - 1) * per_stage_;
      add_ways(placed_.up[static_cast<std::size_t>(s)], first, first + per_stage_, distance);
      add_ways(placed_.down[static_cast<std::size_t>(s)], first + distance, first + distance + per_stage_,
               -distance);
    }
  }

  void place_embedding() {
    const std::int64_t distance = (plan_->pp - 1) * per_stage_;
    for (std::int64_t rank = 0; rank < per_stage_;) {
      const PlacedNode& first = nodes_[node_at(rank)];
      const PlacedNode& last = nodes_[node_at(rank + distance)];
      GroupUse use{.group = group_of({.first = rank, .end = rank + 1, .step = distance, .times = 2}),
                   .members = 2};
      const auto users = [&](const PlacedNode& node) {
        return overlap(node.first, node.end, 0, per_stage_) +
               overlap(node.first, node.end, distance, distance + per_stage_);
      };
      if (first.number != last.number)
        use.sharing = static_cast<std::int32_t>(std::max(users(first), users(last)));
      else if (has_bus(first))
        use.sharing = static_cast<std::int32_t>(users(first) / 2);
      add_once(placed_.embedding, use);
      rank = std::min({per_stage_, first.end, last.end - distance});
    }
  }

  const Cluster& cluster_;
  NetworkModel model_;
  bool alike_ = true;
  struct NumberedNode {
    std::int32_t number = 0, device = 0;
  };
  std::vector<std::vector<NumberedNode>> by_kind_;
  const Plan* plan_ = nullptr;
  std::int64_t per_stage_ = 1;
  std::vector<PlacedNode> nodes_;
  std::vector<std::size_t> taken_, touched_;
  std::vector<DeviceId> members_;
  PlacedPlan placed_;
  std::vector<NodeRun> runs_;              // of the last placement, with
  std::array<std::int64_t, 5> degrees_{};  // its plan
  std::vector<std::int64_t> key_;
  std::unordered_map<std::vector<std::int64_t>, GroupId, NumbersHash> groups_;
  std::unordered_map<std::array<std::int64_t, 4>, Nanoseconds, NumbersHash> collectives_, messages_;
};

PlanNetwork::PlanNetwork(const Cluster& cluster, CollectiveAlgorithm algorithm)
    : state_(std::make_unique<State>(cluster, algorithm)) {}
PlanNetwork::~PlanNetwork() = default;

const PlacedPlan& PlanNetwork::place(const Plan& plan, std::span<const NodeRun> nodes) {
  return state_->place(plan, nodes);
}

Nanoseconds PlanNetwork::collective(CollectiveType type, Bytes size, const GroupUse& use) {
  return state_->collective(type, size, use);
}

Nanoseconds PlanNetwork::message(Bytes size, const MessageWay& way) {
  return state_->message(size, way);
}

}  // namespace nadi::inline predict
