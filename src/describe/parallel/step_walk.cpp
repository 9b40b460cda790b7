#include "nadi/parallel/step_walk.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/ops/gather_again.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {
namespace {

constexpr StepOpId kNobody{std::numeric_limits<std::uint64_t>::max()};
constexpr std::uint32_t kValue = std::numeric_limits<std::uint32_t>::max();

// What an op is, apart from its place in the step: found once per op of a graph, when the walk comes to it.
struct OpFacts {
  bool known = false;
  bool view = false;
  bool cost_is_known = false;  // where it does not depend on the instruction
  RankBinding binding;
  std::int64_t tag = 0;
  Bytes bytes;
  OpCost cost;
};

// Who touched a variable last.
struct Accesses {
  StepOpId writer = kNobody;
  std::vector<StepOpId> readers;  // since then
};

// Communication that stays in order: a group's collectives, or the messages to or from one peer. Those of one
// batch are posted together; each waits for all of the batch before.
struct Lane {
  RankBinding binding;
  std::uint64_t batch = std::numeric_limits<std::uint64_t>::max();
  std::vector<StepOpId> current = {}, previous = {};
};

void add_known(std::vector<StepOpId>& list, StepOpId id) {
  if (id != kNobody) list.push_back(id);
}

void sort_once(std::vector<StepOpId>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

bool is_message(const RankBinding& binding) {
  return binding.kind == RankBinding::Kind::kSend || binding.kind == RankBinding::Kind::kReceive;
}

OpFacts facts_of(const Graph& graph, const Op& op) {
  OpFacts facts;
  facts.known = true;
  facts.view = definition(op.kind).op_class == OpClass::kView;
  facts.binding = binding_of(op);
  switch (facts.binding.kind) {
    case RankBinding::Kind::kNone:
      break;
    case RankBinding::Kind::kCollective:
      facts.bytes = cost_of(graph, op).sent;
      break;
    case RankBinding::Kind::kSend:
      facts.bytes = graph.tensor(op.inputs[0]).size();
      facts.tag = op.attributes.integer("tag");
      break;
    case RankBinding::Kind::kReceive:
      facts.bytes = graph.tensor(op.outputs[0].tensor).size();
      facts.tag = op.attributes.integer("tag");
      break;
  }
  return facts;
}

}  // namespace

class StepWalk::State {
 public:
  State(const Program& program, const StepWalkOptions& options) : program_(program), options_(options) {
    check((options.ops == StepWalkOps::kAll && !options.merge_repeats) || !options.dependencies,
          "dependencies need a walk over all ops");
    for (const Graph& graph : program.graphs) prepare(graph);
    if (options.dependencies) find_last_uses();
    if (options.merge_repeats) count_repeats();
    if (options.plan != nullptr) {
      const Plan& plan = *options.plan;
      tags_per_micro_batch_ = 2 * plan.pp * plan.virtual_stages;
      if (plan.micro_batches > std::numeric_limits<std::int32_t>::max() / tags_per_micro_batch_)
        throw Error{
            ErrorKind::kInfeasible,
            {},
            format("{} micro-batches over {} stages of {} chunks need more tags for their messages than "
                   "fit 32 bits",
                   plan.micro_batches, plan.pp, plan.virtual_stages)};
    }
    if (!program.instructions.empty()) enter();
  }

  bool next(StepOp& at) {
    for (; instruction_ < program_.instructions.size(); leave()) {
      if (options_.merge_repeats && times_[instruction_] == 0) continue;
      const Section& section = program_.section(program_.instructions[instruction_].section);
      const Graph& graph = program_.graph_of(section);
      std::vector<OpFacts>& facts = graphs_[section.graph].facts;
      while (op_ < section.end_op) {
        OpFacts& of_op = facts[op_];
        if (!of_op.known) of_op = facts_of(graph, graph.ops()[op_]);
        ++op_;
        if (of_op.view) continue;
        if (options_.ops == StepWalkOps::kCommunication && of_op.binding.kind == RankBinding::Kind::kNone) {
          ++next_;
          continue;
        }
        fill(at, section, OpId{op_ - 1}, of_op);
        return true;
      }
    }
    return false;
  }

  void again() {
    check(instruction_ == program_.instructions.size(), "a program starts again only when it has ended");
    instruction_ = 0;
    if (!program_.instructions.empty()) enter();
  }

 private:
  struct GraphState {
    std::vector<OpFacts> facts;           // by op
    std::vector<std::uint32_t> root;      // by tensor: itself, or what it is a view of
    std::vector<std::uint32_t> variable;  // by tensor: number among the program's variables, or kValue
    // Writers of the values of the micro-batches that are under way, by tensor.
    std::unordered_map<std::int32_t, std::vector<StepOpId>> writers;
  };

  void prepare(const Graph& graph) {
    GraphState state;
    state.facts.resize(graph.ops().size());
    if (options_.dependencies) prepare_data_flow(graph, state);
    graphs_.push_back(std::move(state));
  }

  void prepare_data_flow(const Graph& graph, GraphState& state) {
    const std::size_t tensors = graph.tensors().size();
    state.root.resize(tensors);
    state.variable.assign(tensors, kValue);
    for (std::uint32_t t = 0; t < tensors; ++t) {
      state.root[t] = t;
      const Tensor& tensor = graph.tensors()[t];
      if (!tensor.variable) continue;
      const auto [entry, fresh] =
          variable_numbers_.emplace(tensor.name, static_cast<std::uint32_t>(variables_.size()));
      if (fresh) variables_.emplace_back();
      state.variable[t] = entry->second;
    }
    for (const Op& op : graph.ops())
      if (definition(op.kind).op_class == OpClass::kView)
        for (const OpOutput& output : op.outputs)
          state.root[index(output.tensor)] = state.root[index(op.inputs[0])];
  }

  // Instructions after which nobody reads the values of their micro-batch any more.
  void find_last_uses() {
    const std::vector<Instruction>& instructions = program_.instructions;
    std::set<std::pair<std::size_t, std::int32_t>> seen;
    is_last_use_.resize(instructions.size());
    for (std::size_t i = instructions.size(); i-- > 0;)
      is_last_use_[i] =
          seen.emplace(program_.section(instructions[i].section).graph, instructions[i].micro_batch).second;
  }

  void count_repeats() {
    constexpr std::int64_t kAnyPosition = -1;
    std::map<std::pair<SectionId, std::int64_t>, std::size_t> first;
    times_.resize(program_.instructions.size());
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const std::int64_t position = instruction.context.position.value_or(kAnyPosition);
      ++times_[first.try_emplace({instruction.section, position}, i).first->second];
    }
  }

  void enter() {
    const Instruction& instruction = program_.instructions[instruction_];
    const Section& section = program_.section(instruction.section);
    op_ = section.first_op;
    if (instruction_ == 0 || !program_.instructions[instruction_ - 1].with_next) ++exchange_;
    if (!options_.dependencies) return;
    first_ = next_;
    follows_schedule_.clear();
    computed_before_ = last_computed_;
    GraphState& state = graphs_[section.graph];
    const auto [entry, fresh] = state.writers.try_emplace(instruction.micro_batch);
    if (fresh) {
      if (!spare_.empty()) {
        entry->second = std::move(spare_.back());
        spare_.pop_back();
      }
      entry->second.assign(state.root.size(), kNobody);
    }
    writers_ = &entry->second;
  }

  void leave() {
    if (options_.dependencies && is_last_use_[instruction_]) {
      const Instruction& instruction = program_.instructions[instruction_];
      GraphState& state = graphs_[program_.section(instruction.section).graph];
      const auto done = state.writers.find(instruction.micro_batch);
      spare_.push_back(std::move(done->second));
      state.writers.erase(done);
    }
    if (++instruction_ < program_.instructions.size()) enter();
  }

  void fill(StepOp& at, const Section& section, OpId op_id, OpFacts& facts) {
    const Instruction& instruction = program_.instructions[instruction_];
    at.id = StepOpId{next_};
    at.instruction = instruction_;
    at.micro_batch = instruction.micro_batch;
    at.times = options_.merge_repeats ? times_[instruction_] : 1;
    at.section = &section;
    at.graph = &program_.graph_of(section);
    at.op = &at.graph->op(op_id);
    at.op_id = op_id;
    at.stream = stream_of(facts.binding);
    at.binding = facts.binding;
    at.bytes = facts.bytes;
    at.tag = 0;
    at.exchange = exchange_;
    if (options_.plan != nullptr && is_message(facts.binding)) add_tag(at, facts);
    if (options_.costs) add_cost(at, instruction.context, facts);
    at.data.clear();
    at.order.clear();
    if (options_.dependencies) {
      add_data_flow(at, graphs_[section.graph]);
      if (facts.binding.kind != RankBinding::Kind::kNone) add_lane(at);
      add_schedule(at);
      sort_once(at.data);
      sort_once(at.order);
      std::erase_if(at.order, [&](StepOpId id) { return std::ranges::binary_search(at.data, id); });
    }
    ++next_;
  }

  void add_tag(StepOp& at, const OpFacts& facts) const {
    check(
        facts.tag >= 0 && facts.tag < tags_per_micro_batch_ && at.micro_batch < options_.plan->micro_batches,
        "the tag of a message belongs to a chunk of the plan");
    at.tag = static_cast<std::int32_t>(facts.tag + tags_per_micro_batch_ * at.micro_batch);
  }

  static void add_cost(StepOp& at, const CostContext& context, OpFacts& facts) {
    if (context.position) {
      at.cost = cost_of(*at.graph, *at.op, context);
      return;
    }
    if (!facts.cost_is_known) facts.cost = cost_of(*at.graph, *at.op);
    facts.cost_is_known = true;
    at.cost = facts.cost;
  }

  // Values belong to their micro-batch, of which several are under way at once in a pipeline; within it each
  // is written once, before it is read.
  void add_data_flow(StepOp& at, const GraphState& state) {
    std::vector<StepOpId>& writers = *writers_;
    for (const TensorId input : at.op->inputs) {
      if (input == kNoTensor) continue;
      const std::uint32_t root = state.root[index(input)];
      if (state.variable[root] == kValue) {
        check(writers[root] != kNobody || at.graph->tensors()[root].role != Role::kActivation,
              "a value is read before its micro-batch has written it");
        add_known(at.data, writers[root]);
      } else {
        Accesses& accesses = variables_[state.variable[root]];
        add_known(at.data, accesses.writer);
        accesses.readers.push_back(at.id);
      }
    }
    for (const OpOutput& output : at.op->outputs) {
      const std::size_t tensor = index(output.tensor);
      if (state.variable[tensor] == kValue) {
        writers[tensor] = at.id;
        continue;
      }
      Accesses& accesses = variables_[state.variable[tensor]];
      // What is added to must be there: that is data, not only order.
      add_known(output.accumulate ? at.data : at.order, accesses.writer);
      for (const StepOpId reader : accesses.readers)
        if (reader != at.id) at.order.push_back(reader);
      accesses.writer = at.id;
      accesses.readers.clear();
    }
  }

  // Behind the communication of the same kind, but beside that of the same batch.
  void add_lane(StepOp& at) {
    const bool collective = at.binding.kind == RankBinding::Kind::kCollective;
    const std::uint64_t batch = collective ? next_ : exchange_;
    Lane& lane = lane_of(at.binding);
    if (lane.batch != batch) {
      lane.batch = batch;
      std::swap(lane.previous, lane.current);
      lane.current.clear();
    }
    at.order.insert(at.order.end(), lane.previous.begin(), lane.previous.end());
    lane.current.push_back(at.id);
    // What is gathered again was ready long ago; it is asked for when the step gets there.
    if (collective && at.op->phase == Phase::kBackward && is_gathered_again(*at.op))
      add_known(at.order, last_computed_);
  }

  Lane& lane_of(const RankBinding& binding) {
    for (Lane& lane : lanes_)
      if (lane.binding == binding) return lane;
    lanes_.push_back({.binding = binding});
    return lanes_.back();
  }

  // Computation waits for the instruction before unless some of what it waits for already does.
  void add_schedule(StepOp& at) {
    const auto follows = [&](StepOpId id) {
      return to_number(id) >= first_ && follows_schedule_[to_number(id) - first_];
    };
    bool ordered = std::ranges::any_of(at.data, follows) || std::ranges::any_of(at.order, follows);
    if (at.binding.kind == RankBinding::Kind::kNone) {
      if (!ordered) add_known(at.order, computed_before_);
      ordered = true;
      last_computed_ = at.id;
    }
    follows_schedule_.push_back(ordered);
  }

  const Program& program_;
  const StepWalkOptions options_;
  std::int64_t tags_per_micro_batch_ = 0;
  std::vector<GraphState> graphs_;
  std::unordered_map<std::string_view, std::uint32_t> variable_numbers_;
  std::vector<Accesses> variables_;
  std::vector<Lane> lanes_;                   // a few
  std::vector<std::int64_t> times_;           // by instruction: 0 where an earlier one stands for it
  std::vector<bool> is_last_use_;             // by instruction: of its graph by its micro-batch
  std::vector<std::vector<StepOpId>> spare_;  // memory of writers that are done with

  std::size_t instruction_ = 0;
  std::uint32_t op_ = 0;
  std::uint64_t next_ = 0;
  // Those of the instruction.
  std::vector<StepOpId>* writers_ = nullptr;
  std::uint64_t exchange_ = 0;  // the same for instructions whose transfers are posted together
  std::uint64_t first_ = 0;
  std::vector<bool> follows_schedule_;  // by step since first_: it waits for computed_before_
  StepOpId computed_before_ = kNobody;
  StepOpId last_computed_ = kNobody;
};

StepWalk::StepWalk(const Program& program, const StepWalkOptions& options)
    : state_(std::make_unique<State>(program, options)) {}
StepWalk::~StepWalk() = default;

bool StepWalk::next(StepOp& at) {
  return state_->next(at);
}

void StepWalk::again() {
  state_->again();
}

}  // namespace nadi::inline describe
