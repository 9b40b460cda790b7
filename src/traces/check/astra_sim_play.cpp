#include "nadi/check/astra_sim_play.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/check/common_attribute_reader.h"
#include "nadi/check/simulators.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

using enum CommonAttribute;

// Rate of a large accelerator; which one it is decides nothing but the order in which things end.
constexpr double kBytesPerNanosecond = 4800;
constexpr double kFlopsPerNanosecond = 989'000;

// Both extremes: communication that takes no time, and computation that takes none beside it.
struct Network {
  std::int64_t latency_ns = 1;
  std::int64_t bytes_per_ns = 0;  // 0 means the size does not count

  std::int64_t time_of(std::int64_t bytes) const {
    return latency_ns + (bytes_per_ns == 0 ? 0 : std::max<std::int64_t>(bytes, 0) / bytes_per_ns);
  }
};
constexpr Network kFastNetwork{};
constexpr Network kSlowNetwork{.latency_ns = 1'000'000, .bytes_per_ns = 1};

PlayedKind kind_of_node(NodeType type, bool on_cpu) {
  if (on_cpu) return PlayedKind::kHost;
  switch (type) {
    case NodeType::kComp:
      return PlayedKind::kComputation;
    case NodeType::kCommColl:
      return PlayedKind::kCollective;
    case NodeType::kCommSend:
      return PlayedKind::kSend;
    case NodeType::kCommRecv:
      return PlayedKind::kReceive;
    case NodeType::kInvalid:
    case NodeType::kMetadata:
    case NodeType::kMemLoad:
    case NodeType::kMemStore:
      return PlayedKind::kMemory;
  }
  return PlayedKind::kMemory;
}

bool takes_turns(PlayedKind kind) {
  return kind == PlayedKind::kCollective || kind == PlayedKind::kSend;
}

class TraceReading {
 public:
  explicit TraceReading(const SimulatedTrace& simulated)
      : trace_(*simulated.checked.trace), index_(trace_), reader_(trace_) {
    played_.rank = simulated.checked.rank.value_or(0);
  }

  PlayedTrace run() {
    sort_rows();
    for (std::uint32_t node = 0; node < rows_.size(); ++node) add(node);
    link();
    return std::move(played_);
  }

 private:
  void sort_rows() {
    rows_.resize(trace_.size());
    std::iota(rows_.begin(), rows_.end(), 0U);
    const auto id_of = [&](std::uint32_t row) { return trace_.id(row); };
    if (!std::ranges::is_sorted(rows_, {}, id_of)) std::ranges::sort(rows_, {}, id_of);
    node_of_row_.resize(rows_.size());
    for (std::uint32_t node = 0; node < rows_.size(); ++node) node_of_row_[rows_[node]] = node;
  }

  std::int64_t integer(CommonAttribute which) const {
    return attributes_.has(which) ? attributes_[which].integer().value_or(0) : 0;
  }

  void add(std::uint32_t node) {
    const std::uint32_t row = rows_[node];
    reader_.read(row, attributes_);
    const NodeType type = trace_.type(row);
    const PlayedKind kind = kind_of_node(type, integer(kIsCpuOp) != 0);
    played_.ids.push_back(trace_.id(row));
    played_.kinds.push_back(kind);
    played_.passed_over.push_back(type == NodeType::kInvalid || type == NodeType::kMetadata);
    const bool idle = kind == PlayedKind::kComputation && integer(kTensorSize) == 0;
    played_.passed_over_with_roofline.push_back(idle);
    played_.any_passed_over_with_roofline |= idle;
    played_.has_odd_nodes |= kind == PlayedKind::kHost || kind == PlayedKind::kMemory;
    const std::int64_t recorded = std::max<std::int64_t>(trace_.duration(row).count(), 1);
    played_.recorded_ns.push_back(recorded);
    const double by_memory = static_cast<double>(integer(kTensorSize)) / kBytesPerNanosecond;
    const double by_work = static_cast<double>(integer(kNumOps)) / kFlopsPerNanosecond;
    played_.roofline_ns.push_back(kind == PlayedKind::kComputation
                                      ? static_cast<std::int64_t>(std::max(by_memory, by_work))
                                      : recorded);
    if (takes_turns(kind) || kind == PlayedKind::kReceive) add_communication(node, row, kind);
  }

  void add_communication(std::uint32_t node, std::uint32_t row, PlayedKind kind) {
    std::string_view group;
    if (attributes_.has(kProcessGroup)) group = attributes_[kProcessGroup].string().value_or("");
    played_.communication.push_back(
        {.node = node,
         .name = played_.texts.intern(trace_.name(row)),
         .group = played_.texts.intern(is_group_of_all(group) ? "" : group),
         .collective = collective_type_from_number(integer(kCommType)).value_or(CollectiveType::kBarrier),
         .bytes = integer(kCommSize),
         .peer = kind == PlayedKind::kReceive ? integer(kCommSrc) : integer(kCommDst),
         .tag = integer(kCommTag)});
  }

  // Calls `visit` once for each node that this one waits for.
  void for_parents(std::uint32_t node, const std::function<void(std::uint32_t)>& visit) {
    const std::uint32_t row = rows_[node];
    found_.clear();
    for (const auto& ids : {trace_.data_deps(row), trace_.ctrl_deps(row)})
      for (const TraceNodeId id : ids)
        if (const auto parent = index_.row_of(id)) found_.push_back(node_of_row_[*parent]);
    std::ranges::sort(found_);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    for (const std::uint32_t parent : found_) visit(parent);
  }

  void link() {
    const std::size_t nodes = rows_.size();
    played_.parents.assign(nodes, 0);
    std::vector<std::uint64_t> counts(nodes, 0);
    std::optional<std::uint32_t> before;  // the collective or sent message with the next lower id
    for (std::uint32_t node = 0; node < nodes; ++node) {
      bool follows = false;
      for_parents(node, [&](std::uint32_t parent) {
        ++counts[parent];
        ++played_.parents[node];
        follows = follows || parent == before;
      });
      if (!takes_turns(played_.kinds[node])) continue;
      played_.in_order = played_.in_order && (follows || !before);
      before = node;
    }
    std::vector<std::uint64_t> next(nodes, 0);
    std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::uint64_t{0});
    played_.children.resize(nodes == 0 ? 0 : next.back() + counts.back());
    for (std::uint32_t node = 0; node < nodes; ++node)
      for_parents(node, [&](std::uint32_t parent) { played_.children[next[parent]++] = node; });
    played_.children_end = std::move(next);
  }

  const Trace& trace_;
  const TraceIndex index_;
  const CommonAttributeReader reader_;
  CommonAttributes attributes_;
  std::vector<std::uint32_t> rows_;         // by node
  std::vector<std::uint32_t> node_of_row_;  // and back
  std::vector<std::uint32_t> found_;
  PlayedTrace played_;
};

// One way through the run.
class Playing {
 public:
  Playing(const PlayedRun& run, PlayedTimes times, const Network& network)
      : run_(run), times_(times), network_(network) {
    for (const PlayedTrace& trace : run.ranks) {
      State& state = states_.emplace_back();
      state.waits_for = trace.parents;
      state.left = trace.ids.size();
      for (std::uint32_t node = 0; node < trace.ids.size(); ++node)
        if (trace.parents[node] == 0) state.add(trace.kinds[node], node);
    }
  }

  std::vector<PlayStop> run() {
    for (std::size_t rank = 0; rank < states_.size(); ++rank) start_what_is_free(rank);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      end(event.rank, event.node);
    }
    std::vector<PlayStop> stops;
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      if (states_[rank].left > 0)
        stops.push_back(stop_of(rank));
      else if (ends_badly(rank))
        stops.push_back(bad_end_of(rank));
    }
    return stops;
  }

 private:
  static constexpr std::uint32_t kNothing = 0xffffffff;

  enum Slot : std::size_t { kHostSlot, kComputationSlot, kCommunicationSlot, kNoSlot };
  static Slot slot_of(PlayedKind kind) {
    switch (kind) {
      case PlayedKind::kHost:
        return kHostSlot;
      case PlayedKind::kComputation:
        return kComputationSlot;
      case PlayedKind::kCollective:
      case PlayedKind::kSend:
      case PlayedKind::kMemory:
        return kCommunicationSlot;
      case PlayedKind::kReceive:
        return kNoSlot;
    }
    return kNoSlot;
  }

  using LowestFirst =
      std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<std::uint32_t>>;

  struct State {
    std::vector<std::uint32_t> waits_for;
    std::array<LowestFirst, 4> free;  // by slot
    std::array<std::uint32_t, 3> under_way{kNothing, kNothing, kNothing};
    std::vector<std::uint32_t> unseen;              // free since a node was passed over
    std::map<std::uint32_t, std::size_t> receives;  // posted and not arrived: place in communication
    std::map<std::uint32_t, std::uint32_t> joined;  // by group: how many collectives
    std::size_t left = 0;
    std::uint32_t last = kNothing;  // that ended

    void add(PlayedKind kind, std::uint32_t node) { free[slot_of(kind)].push(node); }
  };

  struct Event {
    std::int64_t at = 0;
    std::uint64_t sequence = 0;
    std::size_t rank = 0;
    std::uint32_t node = 0;

    bool operator>(const Event& other) const {
      return std::tie(at, sequence) > std::tie(other.at, other.sequence);
    }
  };

  struct Collective {
    std::vector<std::pair<std::size_t, std::uint32_t>> members;  // that have joined: rank and node
    CollectiveType type = CollectiveType::kAllReduce;
    std::int64_t bytes = 0;
    bool agreed = true;
  };

  using Route = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // from, to, tag, bytes
  struct Messages {
    std::int64_t arrived = 0;                                      // that nobody has asked for yet
    std::queue<std::pair<std::size_t, std::uint32_t>> waited_for;  // by rank and node
  };

  const PlayedTrace& trace(std::size_t rank) const { return run_.ranks[rank]; }

  const PlayedCommunication& communication(std::size_t rank, std::uint32_t node) const {
    return *std::ranges::lower_bound(trace(rank).communication, node, {}, &PlayedCommunication::node);
  }

  bool is_passed_over(std::size_t rank, std::uint32_t node) const {
    return trace(rank).passed_over[node] ||
           (times_ == PlayedTimes::kRoofline && trace(rank).passed_over_with_roofline[node]);
  }

  void start_what_is_free(std::size_t rank) {
    State& state = states_[rank];
    for (const Slot slot : {kHostSlot, kComputationSlot, kCommunicationSlot})
      while (state.under_way[slot] == kNothing && !state.free[slot].empty()) start(rank, take(state, slot));
    while (!state.free[kNoSlot].empty()) start(rank, take(state, kNoSlot));
    // They are looked at when the next node ends.
    for (const std::uint32_t node : state.unseen) state.add(trace(rank).kinds[node], node);
    state.unseen.clear();
  }

  static std::uint32_t take(State& state, Slot slot) {
    const std::uint32_t node = state.free[slot].top();
    state.free[slot].pop();
    return node;
  }

  void start(std::size_t rank, std::uint32_t node) {
    State& state = states_[rank];
    if (is_passed_over(rank, node)) {
      release(rank, node, state.unseen);
      return;
    }
    const PlayedKind kind = trace(rank).kinds[node];
    if (const Slot slot = slot_of(kind); slot != kNoSlot) state.under_way[slot] = node;
    switch (kind) {
      case PlayedKind::kHost:
      case PlayedKind::kMemory:
        return end_in(trace(rank).recorded_ns[node], rank, node);
      case PlayedKind::kComputation:
        return end_in(
            times_ == PlayedTimes::kRecorded ? trace(rank).recorded_ns[node] : trace(rank).roofline_ns[node],
            rank, node);
      case PlayedKind::kSend:
        return end_in(network_.time_of(communication(rank, node).bytes), rank, node);
      case PlayedKind::kReceive:
        return receive(rank, node);
      case PlayedKind::kCollective:
        return join(rank, node);
    }
  }

  void end_in(std::int64_t time, std::size_t rank, std::uint32_t node) {
    std::int64_t at = 0;
    if (__builtin_add_overflow(now_, time, &at)) at = std::numeric_limits<std::int64_t>::max();
    events_.push({.at = at, .sequence = sequence_++, .rank = rank, .node = node});
  }

  void end(std::size_t rank, std::uint32_t node) {
    State& state = states_[rank];
    const PlayedKind kind = trace(rank).kinds[node];
    if (const Slot slot = slot_of(kind); slot != kNoSlot) state.under_way[slot] = kNothing;
    if (kind == PlayedKind::kReceive) state.receives.erase(node);
    state.last = node;
    std::vector<std::uint32_t> freed;
    release(rank, node, freed);
    for (const std::uint32_t child : freed) state.add(trace(rank).kinds[child], child);
    if (kind == PlayedKind::kSend) arrive(rank, node);
    start_what_is_free(rank);
  }

  void release(std::size_t rank, std::uint32_t node, std::vector<std::uint32_t>& freed) {
    State& state = states_[rank];
    --state.left;
    const PlayedTrace& of = trace(rank);
    for (std::uint64_t i = node == 0 ? 0 : of.children_end[node - 1]; i < of.children_end[node]; ++i)
      if (--state.waits_for[of.children[i]] == 0) freed.push_back(of.children[i]);
  }

  void arrive(std::size_t rank, std::uint32_t node) {
    const PlayedCommunication& sent = communication(rank, node);
    Messages& messages = messages_[{trace(rank).rank, sent.peer, sent.tag, sent.bytes}];
    if (messages.waited_for.empty()) {
      ++messages.arrived;
      return;
    }
    const auto [receiver, receive] = messages.waited_for.front();
    messages.waited_for.pop();
    end_in(0, receiver, receive);
  }

  void receive(std::size_t rank, std::uint32_t node) {
    const PlayedCommunication& wanted = communication(rank, node);
    Messages& messages = messages_[{wanted.peer, trace(rank).rank, wanted.tag, wanted.bytes}];
    states_[rank].receives.emplace(node,
                                   static_cast<std::size_t>(&wanted - trace(rank).communication.data()));
    if (messages.arrived == 0) {
      messages.waited_for.emplace(rank, node);
      return;
    }
    --messages.arrived;
    end_in(0, rank, node);
  }

  std::size_t size_of(std::string_view group) const {
    if (group.empty()) return run_.ranks.size();
    const auto members = run_.groups == nullptr ? GroupMembers::const_iterator{} : run_.groups->find(group);
    return run_.groups == nullptr || members == run_.groups->end() ? 0 : members->second.size();
  }

  void join(std::size_t rank, std::uint32_t node) {
    const PlayedCommunication& call = communication(rank, node);
    if (call.collective == CollectiveType::kBroadcast)
      return end_in(trace(rank).recorded_ns[node], rank, node);
    const std::string group(trace(rank).texts.text(call.group));
    const std::uint32_t number = states_[rank].joined[call.group]++;
    Collective& collective = collectives_[{group, number}];
    if (collective.members.empty()) {
      collective.type = call.collective;
      collective.bytes = call.bytes;
    }
    collective.agreed =
        collective.agreed && collective.type == call.collective && collective.bytes == call.bytes;
    collective.members.emplace_back(rank, node);
    if (!ends(group, collective)) return;
    for (const auto& [member, its_node] : collective.members)
      end_in(network_.time_of(call.bytes), member, its_node);
    collectives_.erase({group, number});
  }

  bool ends(std::string_view group, const Collective& collective) const {
    const std::size_t members = size_of(group);
    const bool empty = collective.type == CollectiveType::kAllGather && collective.bytes == 0;
    return collective.agreed && members > 1 && collective.members.size() == members && !empty;
  }

  // "node 17 'embedding.all_reduce'"
  std::string describe(std::size_t rank, std::uint32_t node) const {
    return format("node {} {}", to_number(trace(rank).ids[node]),
                  quote_for_message(trace(rank).texts.text(communication(rank, node).name)));
  }

  // What a rank that does not go on is in.
  std::string whereabouts(std::size_t rank) const {
    const State& state = states_[rank];
    if (state.left == 0) return "has finished";
    if (const std::uint32_t node = state.under_way[kCommunicationSlot]; node != kNothing)
      return format("is in {}", describe(rank, node));
    if (!state.receives.empty()) return format("waits in {}", describe(rank, state.receives.begin()->first));
    return "does not go on";
  }

  std::optional<std::size_t> absent_member(const std::string& group, const Collective& collective) const {
    const auto has_joined = [&](std::int64_t number) {
      return std::ranges::any_of(collective.members,
                                 [&](const auto& member) { return trace(member.first).rank == number; });
    };
    for (std::size_t rank = 0; rank < run_.ranks.size(); ++rank) {
      const std::int64_t number = trace(rank).rank;
      const bool is_member = group.empty() || (run_.groups != nullptr && run_.groups->contains(group) &&
                                               std::ranges::find(run_.groups->find(group)->second, number) !=
                                                   run_.groups->find(group)->second.end());
      if (is_member && !has_joined(number)) return rank;
    }
    return std::nullopt;
  }

  PlayStop stop_of(std::size_t rank) const {
    const State& state = states_[rank];
    PlayStop stop{.rank = rank, .why = {}};
    const auto in = [&](std::uint32_t node) {
      stop.node = trace(rank).ids[node];
      stop.node_name = std::string(trace(rank).texts.text(communication(rank, node).name));
    };
    const std::uint32_t node = state.under_way[kCommunicationSlot];
    if (node != kNothing && trace(rank).kinds[node] == PlayedKind::kCollective) {
      in(node);
      stop.why = why_it_waits(rank, node);
    } else if (!state.receives.empty()) {
      const auto& [waiting, place] = *state.receives.begin();
      in(waiting);
      const std::int64_t peer = trace(rank).communication[place].peer;
      stop.why = format("it waits for a message of rank {}", peer);
      if (peer >= 0 && static_cast<std::size_t>(peer) < states_.size())
        stop.why += format(", which {}", whereabouts(static_cast<std::size_t>(peer)));
    } else {
      stop.why = "nothing starts what follows a node that is passed over";
    }
    return stop;
  }

  bool ends_badly(std::size_t rank) const {
    const std::uint32_t last = states_[rank].last;
    if (last == kNothing || !trace(rank).has_odd_nodes) return false;
    return trace(rank).kinds[last] == PlayedKind::kSend || trace(rank).kinds[last] == PlayedKind::kReceive;
  }

  PlayStop bad_end_of(std::size_t rank) const {
    const std::uint32_t last = states_[rank].last;
    return {.rank = rank,
            .why = "its statistics stop where a rank has ops of the host and ends with a message",
            .node = trace(rank).ids[last],
            .node_name = std::string(trace(rank).texts.text(communication(rank, last).name))};
  }

  std::string why_it_waits(std::size_t rank, std::uint32_t node) const {
    const PlayedCommunication& call = communication(rank, node);
    const std::string group(trace(rank).texts.text(call.group));
    for (const auto& [key, collective] : collectives_) {
      if (key.first != group ||
          std::ranges::find(collective.members, std::pair(rank, node)) == collective.members.end())
        continue;
      if (!collective.agreed) return "ranks of its group call different collectives, or with different sizes";
      if (const auto absent = absent_member(group, collective))
        return format("it waits in a collective for rank {}, which {}", trace(*absent).rank,
                      whereabouts(*absent));
      if (size_of(group) == 1) return "a collective of one rank does not end";
    }
    return "its collective does not end";
  }

  const PlayedRun& run_;
  const PlayedTimes times_;
  const Network network_;
  std::vector<State> states_;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  std::map<std::pair<std::string, std::uint32_t>, Collective> collectives_;
  std::map<Route, Messages> messages_;
  std::int64_t now_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace

PlayedTrace played_trace(const SimulatedTrace& trace) {
  return TraceReading(trace).run();
}

std::vector<PlayStop> play(const PlayedRun& run, PlayedTimes times) {
  std::vector<PlayStop> stops = Playing(run, times, kFastNetwork).run();
  const bool in_order = std::ranges::all_of(run.ranks, &PlayedTrace::in_order);
  if (!stops.empty() || in_order) return stops;
  return Playing(run, times, kSlowNetwork).run();
}

}  // namespace nadi::inline traces
