#include "nadi/sim/replay_program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/parallel/step_walk.h"
#include "nadi/sim/exchange_order.h"
#include "nadi/unroll/collective_type.h"

namespace nadi::inline predict {
namespace {

constexpr std::uint32_t kNotPlaced = std::numeric_limits<std::uint32_t>::max();

class StageFlattening {
 public:
  StageFlattening(const Program& program, const Plan& plan, std::int64_t stage, const OverlapOptions& overlap)
      : program_(program), plan_(plan), stage_number_(stage), overlap_(overlap.with(plan.virtual_stages)) {
    first_op_.reserve(program.graphs.size());
    for (const Graph& graph : program.graphs) {
      first_op_.push_back(numbers_.size());
      numbers_.resize(numbers_.size() + graph.ops().size(), kNotPlaced);
    }
    if (overlap.reduce_after_backward) find_last_backward();
  }

  StageReplay run() {
    // Where the order is another one, all steps are taken first.
    std::vector<std::vector<Step>> by_instruction(reorders() ? program_.instructions.size() : 0);
    StepWalk walk(program_, {.plan = &plan_, .costs = false});
    for (StepOp at; walk.next(at);) {
      place_.push_back(kNotPlaced);
      parents_.assign(at.data.begin(), at.data.end());
      parents_.insert(parents_.end(), at.order.begin(), at.order.end());
      Step step = taken(at);
      is_held_.push_back(is_held_back(at) ? 1 : 0);
      if (is_held_.back() != 0 || reorders()) {
        step.parents = parents_;
        (is_held_.back() != 0 ? held_ : by_instruction[at.instruction]).push_back(std::move(step));
        continue;
      }
      add(step, parents_);
    }
    if (reorders())
      for (const PlacedInstruction& placed : exchange_order(program_, plan_, stage_number_))
        for (Step& step : by_instruction[placed.instruction]) {
          step.exchange = placed.exchange;
          add(step, step.parents);
        }
    release();
    bool same = true;
    for (std::size_t i = 0; i < steps_.size() && same; ++i) same = steps_[i] == i;
    if (!same) stage_.steps = std::move(steps_);
    stage_.replay.messages_stop_host = overlap_.messages_stop_host;
    stage_.replay.ops = static_cast<std::uint32_t>(stage_.ops.size());
    stage_.replay.shares = static_cast<std::uint32_t>(stage_.shares.size());
    return std::move(stage_);
  }

 private:
  // What is needed of a step that is placed later.
  struct Step {
    std::uint32_t id = 0;
    std::uint32_t graph = 0;
    OpId op_id{};
    const Op* op = nullptr;
    RankBinding binding;
    Bytes bytes;
    std::int32_t tag = 0;
    std::uint64_t exchange = 0;
    std::int64_t position = -1;
    std::vector<StepOpId> parents = {};  // of those that are placed later
  };

  bool reorders() const { return overlap_.blocking_messages && plan_.virtual_stages > 1; }

  Step taken(const StepOp& at) const {
    check(to_number(at.id) < kNotPlaced, "a program has less than 2^32 steps");
    return {.id = static_cast<std::uint32_t>(to_number(at.id)),
            .graph = static_cast<std::uint32_t>(at.section->graph),
            .op_id = at.op_id,
            .op = at.op,
            .binding = at.binding,
            .bytes = reduces_gradients(at) ? on_wire(at) : at.bytes,
            .tag = at.tag,
            .exchange = at.exchange,
            .position = program_.instructions[at.instruction].context.position.value_or(-1)};
  }

  static bool reduces_gradients(const StepOp& at) {
    return at.binding.kind == RankBinding::Kind::kCollective && at.op->phase == Phase::kBackward &&
           (at.binding.group == GroupKind::kData || at.binding.group == GroupKind::kEmbedding);
  }

  Bytes on_wire(const StepOp& at) const {
    if (!overlap_.gradient_dtype) return at.bytes;
    const std::int64_t element = size_of(at.graph->tensor(at.op->inputs[0]).dtype);
    return Bytes{at.bytes.count() / element * size_of(*overlap_.gradient_dtype)};
  }

  // The last of the computation that waits for no reduction.
  void find_last_backward() {
    StepWalk walk(program_, {.plan = &plan_, .costs = false});
    std::vector<char> follows_reduction;
    for (StepOp at; walk.next(at);) {
      const auto follows = [&](StepOpId id) { return follows_reduction[to_number(id)] != 0; };
      const bool held = reduces_gradients(at) || std::ranges::any_of(at.data, follows) ||
                        std::ranges::any_of(at.order, follows);
      follows_reduction.push_back(held ? 1 : 0);
      if (!held && at.binding.kind == RankBinding::Kind::kNone && at.op->phase == Phase::kBackward)
        last_backward_ = to_number(at.id);
    }
  }

  // Reductions of gradients, what waits for them, and all that follows the last computation of the backward
  // pass but what that sends: others wait for it before they come to a reduction.
  bool is_held_back(const StepOp& at) const {
    if (!last_backward_) return false;
    const bool message =
        at.binding.kind == RankBinding::Kind::kSend || at.binding.kind == RankBinding::Kind::kReceive;
    if (to_number(at.id) > *last_backward_) return !message;
    const auto waits = [&](StepOpId id) { return is_held_[to_number(id)] != 0; };
    return reduces_gradients(at) || std::ranges::any_of(at.data, waits) ||
           std::ranges::any_of(at.order, waits);
  }

  void release() {
    for (const Step& step : held_) {
      std::vector<StepOpId> parents = step.parents;
      if (last_backward_) parents.push_back(StepOpId{*last_backward_});
      add(step, parents);
    }
    held_.clear();
  }

  void add(const Step& step, const std::vector<StepOpId>& parents) {
    ReplayProgram& replay = stage_.replay;
    const std::uint32_t number = static_cast<std::uint32_t>(replay.nodes.size());
    place_[step.id] = number;
    steps_.push_back(step.id);
    ReplayNode node{.phase = static_cast<std::uint8_t>(step.op->phase)};
    if (step.binding.kind == RankBinding::Kind::kNone) {
      node.op = op_number(step);
      ++stage_.ops[node.op].count;
    } else {
      node.communication = add_communication(step, number);
      node.stream = blocks(step.binding) ? std::uint16_t{0} : kNoStream;
    }
    add_parents(node, parents);
    replay.nodes.push_back(node);
    stage_.graph_ops.push_back(static_cast<std::uint32_t>(first_op_[step.graph]) + to_index(step.op_id));
    waited_for_.push_back(0);
  }

  bool blocks(const RankBinding& binding) const {
    return binding.kind == RankBinding::Kind::kCollective ? overlap_.blocking_collectives
                                                          : overlap_.blocking_messages;
  }

  bool is_message(const ReplayNode& node) const {
    if (node.communication == kNoCommunication) return false;
    const ReplayProgram& replay = stage_.replay;
    return replay.roles[replay.communications[node.communication].role] != ReplayRoleKind::kCollective;
  }

  void add_parents(ReplayNode& node, const std::vector<StepOpId>& parents) {
    std::vector<std::uint32_t>& list = stage_.replay.parents;
    std::uint32_t last_computed = kNotPlaced;
    for (const StepOpId id : parents) {
      const std::uint32_t parent = place_[to_number(id)];
      // Messages that are posted in another order wait for each other by that order.
      if (parent == kNotPlaced && reorders() && is_message(node)) continue;
      check(parent != kNotPlaced, "a step comes after those that it waits for");
      const bool on_stream = stage_.replay.nodes[parent].stream == 0;
      if (on_stream && node.stream == 0) continue;
      if (on_stream) {
        if (last_computed == kNotPlaced || parent > last_computed) last_computed = parent;
        continue;
      }
      if (node.stream == 0) {
        if (waited_for_[parent] != 0) continue;
        waited_for_[parent] = 1;
      }
      list.push_back(parent);
    }
    if (last_computed != kNotPlaced) list.push_back(last_computed);
    node.parents_end = static_cast<std::uint32_t>(list.size());
  }

  std::uint32_t op_number(const Step& step) {
    if (step.position >= 0) {
      const auto [entry, fresh] =
          with_position_.try_emplace(std::tuple(step.graph, to_index(step.op_id), step.position),
                                     static_cast<std::uint32_t>(stage_.ops.size()));
      if (fresh) stage_.ops.push_back({.graph = step.graph, .op = step.op_id, .position = step.position});
      return entry->second;
    }
    std::uint32_t& number = numbers_[first_op_[step.graph] + to_index(step.op_id)];
    if (number == kNotPlaced) {
      number = static_cast<std::uint32_t>(stage_.ops.size());
      stage_.ops.push_back({.graph = step.graph, .op = step.op_id});
    }
    return number;
  }

  static std::uint32_t to_index(OpId id) { return static_cast<std::uint32_t>(id); }

  std::uint32_t add_communication(const Step& step, std::uint32_t node) {
    ReplayProgram& replay = stage_.replay;
    const std::uint32_t role = role_of(step.binding);
    const bool collective = step.binding.kind == RankBinding::Kind::kCollective;
    const ReplayRequest request{.role = role,
                                .type = collective ? collective_type(step.op->kind) : CollectiveType{},
                                .size = step.bytes};
    ReplayCommunication communication{
        .node = node, .role = role, .request = request_number(request), .tag = step.tag};
    if (collective) {
      if (role >= collectives_.size()) collectives_.resize(role + 1, 0);
      communication.sequence = collectives_[role]++;
    } else {
      communication.exchange = static_cast<std::uint32_t>(step.exchange + 1);
    }
    communication.share = share_number(step, collective);
    CommunicationShare& share = stage_.shares[communication.share];
    ++share.count;
    share.bytes += step.bytes;
    replay.communications.push_back(communication);
    return static_cast<std::uint32_t>(replay.communications.size() - 1);
  }

  std::uint32_t role_of(const RankBinding& binding) {
    for (std::uint32_t r = 0; r < stage_.roles.size(); ++r)
      if (stage_.roles[r] == binding) return r;
    stage_.roles.push_back(binding);
    switch (binding.kind) {
      case RankBinding::Kind::kCollective:
        stage_.replay.roles.push_back(ReplayRoleKind::kCollective);
        break;
      case RankBinding::Kind::kSend:
        stage_.replay.roles.push_back(ReplayRoleKind::kSend);
        break;
      case RankBinding::Kind::kReceive:
        stage_.replay.roles.push_back(ReplayRoleKind::kReceive);
        break;
      case RankBinding::Kind::kNone:
        check(false, "computation has no role");
    }
    return static_cast<std::uint32_t>(stage_.roles.size() - 1);
  }

  std::uint32_t request_number(const ReplayRequest& request) {
    std::vector<ReplayRequest>& requests = stage_.replay.requests;
    const auto known = std::ranges::find(requests, request);
    if (known != requests.end()) return static_cast<std::uint32_t>(known - requests.begin());
    requests.push_back(request);
    return static_cast<std::uint32_t>(requests.size() - 1);
  }

  std::uint32_t share_number(const Step& step, bool collective) {
    const std::string_view group = to_string(step.binding.group);
    const std::string_view op = collective ? to_string(step.op->kind) : std::string_view{"message"};
    for (std::uint32_t s = 0; s < stage_.shares.size(); ++s)
      if (stage_.shares[s].group == group && stage_.shares[s].op == op) return s;
    stage_.shares.push_back({.group = std::string(group), .op = std::string(op)});
    return static_cast<std::uint32_t>(stage_.shares.size() - 1);
  }

  const Program& program_;
  const Plan& plan_;
  const std::int64_t stage_number_;
  const OverlapOptions overlap_;
  std::optional<std::uint64_t> last_backward_;
  StageReplay stage_;
  std::vector<std::uint32_t> place_;  // by step: its node
  std::vector<std::uint32_t> steps_;  // by node
  std::vector<Step> held_;
  std::vector<char> is_held_;  // by step
  std::vector<StepOpId> parents_;
  std::vector<char> waited_for_;            // by node: computation already waited for it
  std::vector<std::uint32_t> collectives_;  // by role: so far
  std::vector<std::size_t> first_op_;
  std::vector<std::uint32_t> numbers_;  // by graph and op
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t> with_position_;
};

}  // namespace

StageReplay flatten(const Program& program, const Plan& plan, const OverlapOptions& overlap,
                    std::int64_t stage) {
  return StageFlattening(program, plan, stage, overlap).run();
}

}  // namespace nadi::inline predict
