// Method: as lockstep does, without values. Rounds over the ranks in order; whoever can complete what it
// waits at does, and goes on to its next communication. A round without progress is a deadlock. The result
// does not depend on the order, since a meeting involves fixed ranks and messages of one (from, to, tag) stay
// in order. For the same reason the ranks of a stage may all take each turn together, and one of them is
// enough.
#include "nadi/parallel/deadlock_check.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/parallel/step_walk.h"

namespace nadi::inline describe {
namespace {

using Kind = CommunicationFault::Kind;

std::string describe(const Op& op) {
  return format("'{}' ({})", op.name, to_string(op.kind));
}

// Within a group of one stage's ranks a message breaks the symmetry.
bool one_rank_stands_for_its_stage(std::span<const Program* const> programs) {
  for (const Program* program : programs)
    for (const Graph& graph : program->graphs)
      for (const Op& op : graph.ops())
        if (definition(op.kind).op_class == OpClass::kPointToPoint) {
          const GroupKind group = binding_of(op).group;
          if (group != GroupKind::kPipeline && group != GroupKind::kEmbedding) return false;
        }
  return true;
}

// A collective or message that a rank has come to.
struct Posted {
  const Graph* graph = nullptr;
  const Op* op = nullptr;
  RankBinding binding;
  std::int64_t tag = 0;
  std::int32_t micro_batch = 0;

  bool sends() const { return binding.kind == RankBinding::Kind::kSend; }
  const Shape& shape() const {
    return graph->tensor(binding.kind == RankBinding::Kind::kReceive ? op->outputs[0].tensor : op->inputs[0])
        .shape;
  }
};

// A rank, or one that stands for all of its stage.
class Participant {
 public:
  Participant(const Plan& plan, const Program& program, Rank rank, SendKind sends)
      : rank_(rank),
        sends_(sends),
        walk_(program,
              {.plan = &plan, .ops = StepWalkOps::kCommunication, .dependencies = false, .costs = false}) {
    has_next_ = walk_.next(next_);
    advance();
  }

  bool done() const { return posted_.empty(); }
  Rank rank() const { return rank_; }
  int number() const { return to_number(rank_); }

  // What it waits at: one collective, or messages that are posted together.
  const Posted& waiting_at() const { return posted_.front(); }
  bool at_collective() const { return waiting_at().binding.kind == RankBinding::Kind::kCollective; }
  std::span<const Posted> posted() const { return posted_; }

  void complete(std::size_t i) {
    posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(i));
    if (posted_.empty()) advance();
  }

 private:
  // Buffered messages are taken one by one: none has to be there for another.
  void advance() {
    const std::uint64_t exchange = next_.exchange;
    while (has_next_) {
      const bool message = next_.binding.kind != RankBinding::Kind::kCollective;
      posted_.push_back({.graph = next_.graph,
                         .op = next_.op,
                         .binding = next_.binding,
                         .tag = message ? next_.op->attributes.integer("tag") : 0,
                         .micro_batch = next_.micro_batch});
      has_next_ = walk_.next(next_);
      if (!message || sends_ == SendKind::kBuffered || next_.exchange != exchange ||
          next_.binding.kind == RankBinding::Kind::kCollective)
        return;
    }
  }

  Rank rank_;
  SendKind sends_;
  StepWalk walk_;
  StepOp next_;
  bool has_next_ = false;
  std::vector<Posted> posted_;
};

class CommunicationCheck {
 public:
  CommunicationCheck(const Plan& plan, std::span<const Program* const> programs,
                     const CommunicationCheckOptions& options)
      : plan_(plan),
        per_stage_(options.ranks == CheckedRanks::kOnePerStage),
        buffered_(options.sends == SendKind::kBuffered) {
    const std::int64_t ranks_per_stage = plan.world_size() / plan.pp;
    for (std::int64_t rank = 0; rank < plan.world_size(); rank += per_stage_ ? ranks_per_stage : 1)
      participants_.emplace_back(plan, *programs[static_cast<std::size_t>(rank / ranks_per_stage)],
                                 Rank{static_cast<std::int32_t>(rank)}, options.sends);
    groups_.resize(participants_.size() * kGroupKindCount);
  }

  std::optional<CommunicationFault> run() {
    while (std::ranges::any_of(participants_, [](const Participant& one) { return !one.done(); })) {
      bool progress = false;
      for (std::size_t i = 0; i < participants_.size() && !fault_; ++i)
        if (!participants_[i].done())
          progress |= participants_[i].at_collective() ? collective(i) : messages(i);
      if (!fault_ && !progress) report_deadlock();
      if (fault_) return std::move(fault_);
    }
    for (const auto& [key, messages] : in_buffers_)
      if (!messages.empty())
        return CommunicationFault{Kind::kNeverReceived,
                                  format("rank {} sent rank {} a message with tag {} that was never received",
                                         participants_[std::get<0>(key)].number(),
                                         participants_[std::get<1>(key)].number(), std::get<2>(key))};
    return std::nullopt;
  }

 private:
  using MessageKey = std::tuple<std::size_t, std::size_t, std::int64_t>;  // from, to, tag of the op
  struct Group {
    std::vector<Rank> ranks;           // all members, by place
    std::vector<std::size_t> members;  // those that are gone through
  };

  void refuse(Kind kind, std::string message) { fault_ = {kind, std::move(message)}; }

  std::size_t participant_of(Rank rank) const {
    return static_cast<std::size_t>(per_stage_ ? coordinates_of(plan_, rank).pp : to_number(rank));
  }

  // The group that an op names; nullptr, and a fault, when the rank is not in it.
  const Group* group_of(std::size_t i, const Posted& posted) {
    const Participant& one = participants_[i];
    Group& group = groups_[i * kGroupKindCount + static_cast<std::size_t>(posted.binding.group)];
    if (group.ranks.empty()) {
      group.ranks = group_members(plan_, posted.binding.group, one.rank());
      for (const Rank rank : group.ranks)
        if (const std::size_t member = participant_of(rank);
            std::ranges::find(group.members, member) == group.members.end())
          group.members.push_back(member);
    }
    if (std::ranges::find(group.members, i) != group.members.end()) return &group;
    refuse(Kind::kWrongGroup, format("op {}: rank {} is not in group '{}'", describe(*posted.op),
                                     one.number(), to_string(posted.binding.group)));
    return nullptr;
  }

  std::optional<std::size_t> peer(std::size_t i, const Posted& posted) {
    const Group* group = group_of(i, posted);
    if (group == nullptr) return std::nullopt;
    const std::int64_t place = posted.binding.peer;
    if (place >= 0 && place < static_cast<std::int64_t>(group->ranks.size()))
      return participant_of(group->ranks[static_cast<std::size_t>(place)]);
    refuse(Kind::kWrongGroup,
           format("op {} of rank {}: place {} is not in a group of {}", describe(*posted.op),
                  participants_[i].number(), place, group->ranks.size()));
    return std::nullopt;
  }

  // Ends those of the posted messages that can end now.
  bool messages(std::size_t i) {
    bool progress = false;
    const std::size_t count = participants_[i].posted().size();
    for (std::size_t left = count, m = 0; left > 0 && !fault_; --left) {
      const Posted posted = participants_[i].posted()[m];
      if (buffered_ ? !pass_buffer(i, posted) : !meet(i, posted)) {
        ++m;
        continue;
      }
      progress = true;
      participants_[i].complete(m);
    }
    return progress && !fault_;
  }

  bool pass_buffer(std::size_t i, const Posted& posted) {
    const std::optional<std::size_t> other = peer(i, posted);
    if (!other) return false;
    if (posted.sends()) {
      in_buffers_[{i, *other, posted.tag}].push_back(posted);
      return true;
    }
    std::deque<Posted>& queue = in_buffers_[{*other, i, posted.tag}];
    if (queue.empty()) return false;
    const Posted sent = queue.front();
    queue.pop_front();
    return fits(*other, sent, i, posted);
  }

  // The first of the peer's messages that is the other end of this one; it ends, too.
  bool meet(std::size_t i, const Posted& posted) {
    const std::optional<std::size_t> other = peer(i, posted);
    if (!other || *other == i || participants_[*other].done() || participants_[*other].at_collective())
      return false;
    const std::span<const Posted> theirs = participants_[*other].posted();
    for (std::size_t m = 0; m < theirs.size(); ++m) {
      if (theirs[m].sends() == posted.sends() || theirs[m].tag != posted.tag) continue;
      const std::optional<std::size_t> back = peer(*other, theirs[m]);
      if (!back) return false;
      if (*back != i) continue;
      if (!(posted.sends() ? fits(i, posted, *other, theirs[m]) : fits(*other, theirs[m], i, posted)))
        return false;
      participants_[*other].complete(m);
      return true;
    }
    return false;
  }

  bool fits(std::size_t from, const Posted& sent, std::size_t to, const Posted& expected) {
    const int sender = participants_[from].number(), receiver = participants_[to].number();
    if (sent.shape().elements() != expected.shape().elements())
      refuse(Kind::kWrongMessage,
             format("op {} of rank {} expects {} elements, rank {} sent {}", describe(*expected.op), receiver,
                    expected.shape().elements(), sender, sent.shape().elements()));
    else if (sent.micro_batch != expected.micro_batch)
      refuse(Kind::kWrongMessage,
             format("op {} of rank {} expects micro-batch {}, rank {} sent micro-batch {}",
                    describe(*expected.op), receiver, expected.micro_batch, sender, sent.micro_batch));
    return !fault_;
  }

  bool collective(std::size_t i) {
    const Posted& posted = participants_[i].waiting_at();
    const Group* group = group_of(i, posted);
    if (group == nullptr) return false;
    const std::int64_t size = posted.op->attributes.integer("group_size");
    if (size != static_cast<std::int64_t>(group->ranks.size())) {
      refuse(Kind::kWrongGroup,
             format("op {} of rank {} needs a group of {} members; '{}' has {}", describe(*posted.op),
                    participants_[i].number(), size, to_string(posted.binding.group), group->ranks.size()));
      return false;
    }
    const auto has_come = [&](std::size_t member) {
      const Participant& other = participants_[member];
      return !other.done() && other.waiting_at().binding == posted.binding;
    };
    if (!std::ranges::all_of(group->members, has_come)) return false;
    for (const std::size_t member : group->members)
      if (!agree(i, member)) return false;
    for (const std::size_t member : group->members) participants_[member].complete(0);
    return true;
  }

  bool agree(std::size_t i, std::size_t member) {
    const Posted& own = participants_[i].waiting_at();
    const Posted& other = participants_[member].waiting_at();
    if (own.op == other.op || (other.op->kind == own.op->kind && other.op->attributes == own.op->attributes &&
                               other.shape() == own.shape()))
      return true;
    refuse(
        Kind::kDifferentCollectives,
        format("rank {} is at op {} of {} when rank {} is at op {} of {}: members of a group must agree in "
               "op, attributes and shape",
               participants_[i].number(), describe(*own.op), own.shape().to_string(),
               participants_[member].number(), describe(*other.op), other.shape().to_string()));
    return false;
  }

  void report_deadlock() {
    std::string waits;
    for (const Participant& one : participants_) {
      if (!waits.empty()) waits += ", ";
      waits += one.done() ? format("rank {} has finished", one.number())
                          : format("rank {} waits at {}", one.number(), describe(*one.waiting_at().op));
    }
    refuse(Kind::kDeadlock, format("deadlock: {}", waits));
  }

  const Plan& plan_;
  const bool per_stage_;
  const bool buffered_;
  std::deque<Participant> participants_;  // they cannot be moved
  std::vector<Group> groups_;             // by participant and kind, filled when asked for
  std::map<MessageKey, std::deque<Posted>> in_buffers_;
  std::optional<CommunicationFault> fault_;
};

}  // namespace

std::optional<CommunicationFault> find_communication_fault(const Plan& plan,
                                                           std::span<const Program* const> programs,
                                                           const CommunicationCheckOptions& options) {
  check(static_cast<std::int64_t>(programs.size()) == plan.pp, "a plan has one program per pipeline stage");
  CommunicationCheckOptions resolved = options;
  if (!one_rank_stands_for_its_stage(programs)) resolved.ranks = CheckedRanks::kAll;
  return CommunicationCheck(plan, programs, resolved).run();
}

}  // namespace nadi::inline describe
