// Method: rounds over the waiting ranks in order; whoever can complete the op it waits at does, and runs to
// its next meeting. A round without progress is a deadlock. The result does not depend on the order, since a
// meeting involves fixed ranks and messages of one (from, to, tag) stay in order.
#include "nadi/reference/lockstep.h"

#include <algorithm>
#include <deque>
#include <tuple>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/reference/collective.h"
#include "nadi/reference/interpreter.h"

namespace nadi::inline engines {
namespace {

std::string describe(const Op& op) {
  return format("'{}' ({})", op.name, to_string(op.kind));
}

class Lockstep {
 public:
  Lockstep(std::span<const LockstepRank> ranks, const RankGroups& groups) : groups_(groups) {
    for (const LockstepRank& rank : ranks) ranks_.emplace_back(*rank.store, rank.tasks);
    report_.sent.resize(ranks.size());
  }

  LockstepReport run() {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) advance(rank);
    while (std::ranges::any_of(ranks_, [](const Interpreter& rank) { return !rank.done(); })) {
      bool progress = false;
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
        if (!ranks_[rank].done()) progress |= meet(rank);
      if (!progress) throw deadlock();
    }
    for (const auto& [key, messages] : messages_)
      if (!messages.empty())
        throw input_error({}, format("rank {} sent rank {} a message with tag {} that was never received",
                                     std::get<0>(key), std::get<1>(key), std::get<2>(key)));
    return std::move(report_);
  }

 private:
  using MessageKey = std::tuple<int, int, std::int64_t>;  // from, to, tag

  // Completes the op that the rank waits at, if that is possible now.
  bool meet(int rank) {
    switch (ranks_[rank].waiting_at().op.kind) {
      case OpKind::kSend:
        return send(rank);
      case OpKind::kReceive:
        return receive(rank);
      default:
        return collective(rank);
    }
  }

  // The ranks of the group that the waiting op of the rank names.
  const std::vector<int>& members(int rank) const {
    const Op& op = ranks_[rank].waiting_at().op;
    const std::string& name = op.attributes.text("group");
    const auto found = groups_.find(name);
    if (found == groups_.end())
      throw input_error({}, format("op {} of rank {}: there is no group '{}'", describe(op), rank, name));
    for (const std::vector<int>& list : found->second)
      if (std::ranges::find(list, rank) != list.end()) return list;
    throw input_error({}, format("op {}: rank {} is not in group '{}'", describe(op), rank, name));
  }

  int peer(int rank) const {
    const Op& op = ranks_[rank].waiting_at().op;
    const std::vector<int>& list = members(rank);
    const std::int64_t place = op.attributes.integer("peer");
    if (place < 0 || place >= static_cast<std::int64_t>(list.size()))
      throw input_error({}, format("op {} of rank {}: place {} is not in a group of {}", describe(op), rank,
                                   place, list.size()));
    return list[place];
  }

  void advance(int rank) {
    try {
      ranks_[rank].advance();
    } catch (const Error& error) {
      throw Error{error.kind(), error.place(), format("rank {}: {}", rank, error.message()), error.hint()};
    }
  }

  void complete(int rank, std::vector<Doubles> outputs) {
    ranks_[rank].complete(std::move(outputs));
    advance(rank);
  }

  bool send(int rank) {
    const std::int64_t tag = ranks_[rank].waiting_at().attributes().integer("tag");
    messages_[{rank, peer(rank), tag}].push_back(ranks_[rank].input(0));
    count_sent(rank);
    complete(rank, {});
    return true;
  }

  bool receive(int rank) {
    const OpView op = ranks_[rank].waiting_at();
    std::deque<Doubles>& queue = messages_[{peer(rank), rank, op.attributes().integer("tag")}];
    if (queue.empty()) return false;
    Doubles message = std::move(queue.front());
    queue.pop_front();
    if (static_cast<std::int64_t>(message.size()) != op.output(0).shape.elements())
      throw input_error({}, format("op {} of rank {} expects {} elements, rank {} sent {}", describe(op.op),
                                   rank, op.output(0).shape.elements(), peer(rank), message.size()));
    complete(rank, {std::move(message)});
    return true;
  }

  bool collective(int rank) {
    const OpView op = ranks_[rank].waiting_at();
    const std::vector<int>& list = members(rank);
    const std::int64_t size = op.attributes().integer("group_size");
    if (size != static_cast<std::int64_t>(list.size()))
      throw input_error({}, format("op {} of rank {} needs a group of {} members; '{}' has {}",
                                   describe(op.op), rank, size, op.attributes().text("group"), list.size()));
    const auto has_come = [&](int member) {
      if (ranks_[member].done()) return false;
      const OpView other = ranks_[member].waiting_at();
      return definition(other.op.kind).op_class == OpClass::kCollective &&
             other.attributes().text("group") == op.attributes().text("group");
    };
    if (!std::ranges::all_of(list, has_come)) return false;
    std::vector<Doubles> flat;
    for (const int member : list) {
      const OpView other = ranks_[member].waiting_at();
      if (other.op.kind != op.op.kind || other.attributes() != op.attributes() || other.in(0) != op.in(0))
        throw input_error({}, format("rank {} is at op {} of {} when rank {} is at op {} of {}: members of a "
                                     "group must agree in op, attributes and shape",
                                     rank, describe(op.op), op.in(0).to_string(), member, describe(other.op),
                                     other.in(0).to_string()));
      flat.push_back(ranks_[member].flat_inputs());
      count_sent(member);
    }
    std::vector<std::span<const double>> inputs(flat.begin(), flat.end());
    const std::vector<Doubles> results = run_collective(op, inputs);
    for (std::size_t i = 0; i < list.size(); ++i)
      complete(list[i], separate_outputs(ranks_[list[i]].waiting_at(), results[i]));
    return true;
  }

  void count_sent(int rank) {
    const OpView op = ranks_[rank].waiting_at();
    if (op.op.kind ==
        OpKind::kExchangeRows) {  // as many rows as are expected: only the run knows how many go
      report_.sent[rank] += cost_of(op.graph, op.op).sent;
      return;
    }
    for (std::size_t i = 0; i < op.op.inputs.size(); ++i)
      report_.sent[rank] +=
          Bytes{static_cast<std::int64_t>(ranks_[rank].input(i).size()) * size_of(op.input(i).dtype)};
  }

  Error deadlock() const {
    std::string waits;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!waits.empty()) waits += ", ";
      waits += ranks_[rank].done()
                   ? format("rank {} has finished", rank)
                   : format("rank {} waits at {}", rank, describe(ranks_[rank].waiting_at().op));
    }
    return input_error({}, format("deadlock: {}", waits));
  }

  const RankGroups& groups_;
  std::vector<Interpreter> ranks_;
  std::map<MessageKey, std::deque<Doubles>> messages_;
  LockstepReport report_;
};

}  // namespace

LockstepReport run_lockstep(std::span<const LockstepRank> ranks, const RankGroups& groups) {
  return Lockstep(ranks, groups).run();
}

}  // namespace nadi::inline engines
