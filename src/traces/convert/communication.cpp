#include "nadi/convert/communication.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "nadi/base/format.h"

namespace nadi::inline traces {

namespace {

constexpr std::string_view kDefaultGroup = "default_pg";

class CommunicationFinder {
 public:
  CommunicationFinder(const CommunicationSource& source, const LinkGraph& graph, GroupNumbers& groups,
                      ConversionReport& report)
      : source_(source), kineto_(source.link.kineto), graph_(graph), groups_(groups), report_(report) {}

  std::vector<CommunicationNode> find(const std::vector<HostCommunication>& on_host) {
    find_handles();
    for (const auto& [node, record, annotation] : on_host) add(node, record, annotation);
    for (const LinkedLane& lane : graph_.lanes) {
      if (!lane.device) continue;
      for (std::uint32_t node = lane.begin; node < lane.end; ++node)
        if (role(node) == EventRole::kCommunicationKernel) add_kernel(node);
    }
    if (kineto_.events.size() == 0) add_host_nodes();
    count_records_without_op();
    set_tags();
    std::ranges::sort(found_, {}, &CommunicationNode::node);
    report_.unknown_groups = unknown_groups_.size();
    return std::move(found_);
  }

 private:
  EventRole role(std::uint32_t node) const {
    const bool is_event = graph_.kind[node] == LinkedKind::kHost || graph_.kind[node] == LinkedKind::kDevice;
    return is_event ? source_.link.roles.of(graph_.row[node]) : EventRole::kPlain;
  }

  // The numbers that old host's traces have in place of groups' names.
  void find_handles() {
    if (source_.host == nullptr) return;
    const Trace& nodes = source_.host->nodes;
    for (std::size_t row = 0; row < nodes.size(); ++row) {
      if (event_role(nodes.name(row)) != EventRole::kCommunicationRecord) continue;
      CommunicationFacts facts;
      add_inputs(facts, nodes, row);
      if (facts.group_handle && communication_kind(facts.name)) handles_.insert(*facts.group_handle);
    }
  }

  // For a host's trace without a profile.
  void add_host_nodes() {
    for (std::uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.kind[node] == LinkedKind::kHostNode &&
          event_role(source_.host->nodes.name(graph_.row[node])) == EventRole::kCommunicationRecord)
        add(node, node, kNoNode);
  }

  void add_kernel(std::uint32_t node) {
    const std::uint32_t annotation = around(node, EventRole::kDeviceCommunication);
    add(node, around(node, EventRole::kCommunicationRecord),
        annotation == kNoNode ? kNoNode : graph_.row[annotation]);
  }

  // The innermost node of that role around a node, or kNoNode.
  std::uint32_t around(std::uint32_t node, EventRole wanted) const {
    std::uint32_t found = graph_.parent[node];
    while (found != kNoNode && role(found) != wanted) found = graph_.parent[found];
    return found;
  }

  // Profiles of PyTorch up to 2.1 say the kind and the tensors in the annotation around the launch
  // (nccl:all_to_all, with shapes), and nothing in record_param_comms. `annotation`: its row, or kNoNode.
  CommunicationFacts facts_of(std::uint32_t node, std::uint32_t record, std::uint32_t annotation) const {
    CommunicationFacts facts;
    if (graph_.kind[node] != LinkedKind::kHostNode) add_attributes(facts, kineto_.events, graph_.row[node]);
    if (record != kNoNode) add_event(facts, record);
    if (annotation != kNoNode) add_annotation(facts, kineto_.events, annotation);
    if (record == kNoNode) return facts;
    if (!facts.size() && graph_.kind[record] == LinkedKind::kHost)
      add_shapes(facts, kineto_.events, graph_.row[record]);
    if (!facts.size() && graph_.parent[record] != kNoNode) {
      // The op around it has the tensors, and says nothing else that the record does not.
      CommunicationFacts around;
      add_event(around, graph_.parent[record]);
      facts.input = around.input;
    }
    return facts;
  }

  void add_event(CommunicationFacts& facts, std::uint32_t node) const {
    if (graph_.kind[node] == LinkedKind::kHostNode) {
      add_attributes(facts, source_.host->nodes, graph_.row[node]);
      add_inputs(facts, source_.host->nodes, graph_.row[node]);
    }
    if (graph_.kind[node] != LinkedKind::kHost) return;
    add_attributes(facts, kineto_.events, graph_.row[node]);
    if (const auto row = source_.host_row(graph_.row[node])) {
      add_attributes(facts, source_.host->nodes, *row);
      add_inputs(facts, source_.host->nodes, *row);
    }
  }

  void add(std::uint32_t node, std::uint32_t record, std::uint32_t annotation) {
    CommunicationFacts facts = facts_of(node, record, annotation);
    // The number of a group tells it from the others of its rank; where there is one, it is all ranks.
    if (facts.group.empty() && facts.group_handle && handles_.size() > 1)
      facts.group = format("{}", *facts.group_handle);
    const bool is_kernel = graph_.kind[node] == LinkedKind::kDevice;
    if (is_kernel && record != kNoNode) with_op_.insert(record);
    std::optional<CommunicationKind> kind = communication_kind(facts.name);
    const auto by_kernel = is_kernel ? kernel_kind(kineto_.events.name(graph_.row[node])) : std::nullopt;
    // A barrier on a device is an all-reduce of one element.
    if (by_kernel && (!kind || kind->collective == CollectiveType::kBarrier)) kind = by_kernel;
    if (!kind) {
      if (is_kernel) ++report_.unknown_communication;
      return;
    }
    CommunicationNode& found = found_.emplace_back();
    found.node = node;
    found.kind = *kind;
    found.size = facts.size().value_or(Bytes{});
    if (!facts.size() && kind->collective != CollectiveType::kBarrier) ++report_.unknown_sizes;
    found.name = facts.name;
    found.dtype = facts.dtype;
    found.group_name = facts.group;
    found.group_description = facts.group_description;
    const std::vector<std::int64_t> members = members_of(facts);
    if (kind->type == NodeType::kCommColl) {
      found.group = group_of(facts, members);
      ++report_.collectives;
      return;
    }
    const bool sends = kind->type == NodeType::kCommSend;
    ++(sends ? report_.sends : report_.receives);
    const std::int64_t peer = peer_of(sends ? facts.destination : facts.source, facts.peer, members);
    found.source = static_cast<std::int32_t>(sends ? source_.rank : peer);
    found.destination = static_cast<std::int32_t>(sends ? peer : source_.rank);
  }

  static std::int64_t peer_of(const std::optional<std::int64_t>& rank,
                              const std::optional<std::int64_t>& place,
                              const std::vector<std::int64_t>& members) {
    const std::int64_t peer = rank.value_or(place.value_or(0));
    const bool is_place = !rank && peer >= 0 && peer < static_cast<std::int64_t>(members.size());
    const std::int64_t found = is_place ? members[static_cast<std::size_t>(peer)] : peer;
    return std::clamp<std::int64_t>(found, 0, std::numeric_limits<std::int32_t>::max());
  }

  std::vector<std::int64_t> members_of(const CommunicationFacts& facts) const {
    if (!facts.ranks.empty()) return facts.ranks;
    const auto by_name = [&](const std::vector<KinetoGroup>& known) -> const KinetoGroup* {
      const auto found = std::ranges::find(known, facts.group, &KinetoGroup::name);
      return found == known.end() ? nullptr : &*found;
    };
    if (const KinetoGroup* group = by_name(kineto_.groups); group != nullptr && !group->ranks.empty())
      return group->ranks;
    if (source_.host != nullptr)
      if (const KinetoGroup* group = by_name(source_.host->groups); group != nullptr && !group->ranks.empty())
        return group->ranks;
    const std::int64_t size = facts.group_size.value_or(0);
    if (size <= 0 || size > kMostMembers) return {};
    if (kineto_.world_size == size) return evenly(0, 1, size);
    if (facts.first_rank && facts.rank_stride && *facts.first_rank >= 0 && *facts.rank_stride > 0)
      return evenly(*facts.first_rank, *facts.rank_stride, size);
    return {};
  }

  static std::vector<std::int64_t> evenly(std::int64_t first, std::int64_t stride, std::int64_t size) {
    std::vector<std::int64_t> ranks(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i)
      ranks[static_cast<std::size_t>(i)] = first + checked_multiply(i, stride, "a rank");
    return ranks;
  }

  std::uint32_t group_of(const CommunicationFacts& facts, const std::vector<std::int64_t>& members) {
    if (facts.group_description == kDefaultGroup || facts.group == "0") return 0;
    if (facts.group.empty()) {
      const auto size = static_cast<std::int64_t>(members.size());
      if (members.empty() || kineto_.world_size == size) return 0;
    }
    if (members.empty()) unknown_groups_.insert(facts.group);
    return groups_.number(facts.group, members);
  }

  // Ops that meant to communicate and launched nothing.
  void count_records_without_op() {
    if (!source_.link.device_work) return;
    std::set<std::uint32_t> on_host;
    for (const CommunicationNode& found : found_) on_host.insert(found.node);
    for (const LinkedLane& lane : graph_.lanes) {
      if (lane.device) continue;
      for (std::uint32_t node = lane.begin; node < lane.end; ++node) {
        if (role(node) != EventRole::kCommunicationRecord || with_op_.contains(node) ||
            on_host.contains(node))
          continue;
        if (communication_kind(facts_of(node, node, kNoNode).name)) ++report_.without_device_op;
      }
    }
  }

  void set_tags() {
    std::vector<std::size_t> order(found_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return graph_.start(found_[i].node, kineto_); });
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> tags;
    for (const std::size_t i : order)
      if (found_[i].kind.type != NodeType::kCommColl)
        found_[i].tag = tags[{found_[i].source, found_[i].destination}]++;
  }

  static constexpr std::int64_t kMostMembers = 1 << 20;

  const CommunicationSource& source_;
  const KinetoTrace& kineto_;
  const LinkGraph& graph_;
  GroupNumbers& groups_;
  ConversionReport& report_;
  std::vector<CommunicationNode> found_;
  std::set<std::uint32_t> with_op_;  // records around the launch of a kernel
  std::set<std::string> unknown_groups_;
  std::set<std::int64_t> handles_;  // of groups without a name
};

}  // namespace

std::vector<CommunicationNode> find_communication(const CommunicationSource& source,
                                                  const std::vector<HostCommunication>& on_host,
                                                  const LinkGraph& graph, GroupNumbers& groups,
                                                  ConversionReport& report) {
  return CommunicationFinder(source, graph, groups, report).find(on_host);
}

}  // namespace nadi::inline traces
