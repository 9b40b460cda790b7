#include "nadi/unroll/step_trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/ops/gather_again.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/roofline_start.h"

namespace nadi {
namespace {

constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

// Who touched a tensor last, as node ids.
struct Accesses {
  std::uint64_t writer = kNobody;
  std::vector<std::uint64_t> readers;  // since then; of variables only
};

// Communication that stays in order: a group's collectives, or the messages to or from one peer. Those of one
// batch are posted together; each waits for all of the batch before.
struct Lane {
  std::uint64_t batch = kNobody;
  std::vector<std::uint64_t> current, previous;
};

CollectiveType collective_type(OpKind kind) {
  constexpr std::pair<OpKind, CollectiveType> kTypes[] = {
      {OpKind::kAllReduce, CollectiveType::kAllReduce},
      {OpKind::kReduce, CollectiveType::kReduce},
      {OpKind::kAllGather, CollectiveType::kAllGather},
      {OpKind::kBucketAllGather, CollectiveType::kAllGather},
      {OpKind::kReduceScatter, CollectiveType::kReduceScatter},
      {OpKind::kBucketReduceScatter, CollectiveType::kReduceScatter},
      {OpKind::kBroadcast, CollectiveType::kBroadcast},
      {OpKind::kAllToAll, CollectiveType::kAllToAll},
  };
  for (const auto& [known, type] : kTypes)
    if (known == kind) return type;
  check(false, "a collective has no name in traces");
  unreachable();
}

struct Tensors {
  std::string values, shapes, types;

  void open() { values = shapes = types = "["; }

  // By hand rather than by format(): this is a third of the time of making nodes.
  void add(const Tensor& tensor) {
    const char* comma = values.size() > 1 ? ", " : "";
    values.append(comma).append("[\"").append(tensor.name).append("\", ");
    values.append(std::to_string(tensor.size().count())).append("]");
    shapes.append(comma).append(tensor.shape.to_string());
    types.append(comma).append("\"").append(to_string(tensor.dtype)).append("\"");
  }
  void close() {
    values += ']';
    shapes += ']';
    types += ']';
  }
  IoInfo io() const { return {values, shapes, types}; }
};

}  // namespace

class StepTracer::State {
 public:
  State(const Program& program, const StepTraceOptions& options) : program_(program), options_(options) {
    for (const Graph& graph : program.graphs) prepare(graph);
    find_last_uses();
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

  bool next(TraceNode& node) {
    for (; instruction_ < program_.instructions.size(); leave()) {
      const Section& section = program_.section(program_.instructions[instruction_].section);
      const Graph& graph = program_.graph_of(section);
      while (op_ < section.end_op) {
        const Op& op = graph.ops()[op_++];
        if (definition(op.kind).op_class == OpClass::kView) continue;
        fill(node, section, op);
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

  const RankBinding& binding() const { return binding_; }

 private:
  struct GraphState {
    std::vector<std::uint32_t> root;      // by tensor: itself, or what it is a view of
    std::vector<std::uint32_t> variable;  // by tensor: number among the program's variables, or kValue
    // Of the micro-batches that are under way: the writers of their values, by tensor.
    std::unordered_map<std::int32_t, std::vector<std::uint64_t>> writers;
  };
  static constexpr std::uint32_t kValue = 0xffffffff;

  void prepare(const Graph& graph) {
    GraphState state;
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
    graphs_.push_back(std::move(state));
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

  void enter() {
    const Instruction& instruction = program_.instructions[instruction_];
    const Section& section = program_.section(instruction.section);
    op_ = section.first_op;
    if (instruction_ == 0 || !program_.instructions[instruction_ - 1].with_next) ++exchange_;
    first_id_ = next_id_;
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
    if (is_last_use_[instruction_]) {
      const Instruction& instruction = program_.instructions[instruction_];
      GraphState& state = graphs_[program_.section(instruction.section).graph];
      const auto done = state.writers.find(instruction.micro_batch);
      spare_.push_back(std::move(done->second));
      state.writers.erase(done);
    }
    if (++instruction_ < program_.instructions.size()) enter();
  }

  void fill(TraceNode& node, const Section& section, const Op& op) {
    const Graph& graph = program_.graph_of(section);
    GraphState& state = graphs_[section.graph];
    const Instruction& instruction = program_.instructions[instruction_];
    const OpClass op_class = definition(op.kind).op_class;

    node.clear();
    node.id = TraceNodeId{next_id_};
    node.name = op.name;
    binding_ = {};
    add_data_flow(node, state, graph, op);
    if (options_.tensors == TensorListing::kAll ||
        (options_.tensors == TensorListing::kFirstMicroBatch && instruction.micro_batch == 0)) {
      list_tensors(graph, op);
      node.inputs = inputs_.io();
      node.outputs = outputs_.io();
    }

    const OpCost cost = cost_of(graph, op, instruction.context);
    add_is_cpu_op(node, false);
    if (is_communication(op_class)) {
      check(cost.flops().count() == 0, "communication does no floating-point work");
      if (op_class == OpClass::kCollective)
        add_collective(node, op, cost);
      else
        add_message(node, graph, op, instruction);
    } else {
      node.type = NodeType::kComp;
      add_work(node, cost.flops(), starts_in_no_time(node, cost) ? Bytes{kBytesOfANanosecond} : cost.moved());
    }
    add_borrowed(node, "op", to_string(op.kind));
    add_borrowed(node, "layer", graph.layer(op.layer));
    add_borrowed(node, "phase", to_string(op.phase));
    if (section.name != to_string(op.phase)) add_borrowed(node, "section", section.name);
    node.attributes.add_int64("micro_batch", instruction.micro_batch);
    add_schedule(node);
    ++next_id_;
  }

  // A text that lives as long as the program.
  static void add_borrowed(TraceNode& node, std::string_view name, std::string_view text) {
    TraceAttribute attribute;
    attribute.name = name;
    attribute.kind = TraceAttributeKind::kString;
    attribute.text = text;
    node.attributes.add_borrowed(attribute);
  }

  void add_collective(TraceNode& node, const Op& op, const OpCost& cost) {
    if (options_.flavor == TraceFlavor::kAstraSim && op.kind == OpKind::kReduce)
      throw Error{ErrorKind::kInfeasible,
                  {},
                  format("op '{}' is a reduce, at which ASTRA-sim stops", op.name),
                  "write the trace in the chakra flavor"};
    check(options_.plan != nullptr, "a program with communication is traced with its plan");
    node.type = NodeType::kCommColl;
    add_comm_type(node, collective_type(op.kind));
    add_comm_size(node, cost.sent);
    if (op.kind == OpKind::kAllReduce) add_borrowed(node, "reduce_op", op.attributes.text("op"));
    binding_ = {.kind = RankBinding::Kind::kCollective, .group = group_named(op.attributes.text("group"))};
    keep_order(node, next_id_);
    // What is gathered again was ready long ago; it is asked for when the step gets there.
    if (op.phase == Phase::kBackward && is_gathered_again(op) && last_computed_ != kNobody)
      node.ctrl_deps.push_back(TraceNodeId{last_computed_});
  }

  void add_message(TraceNode& node, const Graph& graph, const Op& op, const Instruction& instruction) {
    check(options_.plan != nullptr, "a program with communication is traced with its plan");
    const bool sends = op.kind == OpKind::kSend;
    node.type = sends ? NodeType::kCommSend : NodeType::kCommRecv;
    add_comm_size(node, graph.tensor(sends ? op.inputs[0] : op.outputs[0].tensor).size());
    const std::int64_t tag = op.attributes.integer("tag");
    check(tag >= 0 && tag < tags_per_micro_batch_ && instruction.micro_batch < options_.plan->micro_batches,
          "the tag of a message belongs to a chunk of the plan");
    add_comm_tag(node, static_cast<std::int32_t>(tag + tags_per_micro_batch_ * instruction.micro_batch));
    binding_ = {.kind = sends ? RankBinding::Kind::kSend : RankBinding::Kind::kReceive,
                .group = group_named(op.attributes.text("group")),
                .peer = op.attributes.integer("peer")};
    keep_order(node, exchange_);
  }

  // Behind the communication of the same kind, but beside that of the same batch.
  void keep_order(TraceNode& node, std::uint64_t batch) {
    Lane& lane = lanes_[binding_];
    if (lane.batch != batch) {
      lane.batch = batch;
      std::swap(lane.previous, lane.current);
      lane.current.clear();
    }
    for (const std::uint64_t id : lane.previous) node.ctrl_deps.push_back(TraceNodeId{id});
    lane.current.push_back(next_id_);
  }

  // Computation waits for the instruction before unless some of what it waits for already does.
  void add_schedule(TraceNode& node) {
    const auto follows = [&](TraceNodeId id) {
      return to_number(id) >= first_id_ && follows_schedule_[to_number(id) - first_id_];
    };
    bool ordered =
        std::ranges::any_of(node.data_deps, follows) || std::ranges::any_of(node.ctrl_deps, follows);
    if (node.type == NodeType::kComp) {
      if (!ordered && computed_before_ != kNobody) node.ctrl_deps.push_back(TraceNodeId{computed_before_});
      ordered = true;
      last_computed_ = next_id_;
    }
    follows_schedule_.push_back(ordered);

    if (options_.flavor == TraceFlavor::kAstraSim) {
      follow_communication(node);
      node.data_deps.insert(node.data_deps.end(), node.ctrl_deps.begin(), node.ctrl_deps.end());
      node.ctrl_deps.clear();
    }
    const auto tidy = [](std::vector<TraceNodeId>& list) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    tidy(node.data_deps);
    tidy(node.ctrl_deps);
    std::erase_if(node.ctrl_deps,
                  [&](TraceNodeId id) { return std::ranges::binary_search(node.data_deps, id); });
  }

  // That simulator stops at a first computation that its roofline does in less than a nanosecond, such as the
  // filling of four bytes at the start of the last stage. So what waits for nothing and may take no time
  // moves as much memory as takes a nanosecond, up to a computation that waits for nothing either and takes
  // longer.
  bool starts_in_no_time(const TraceNode& node, const OpCost& cost) {
    const bool waits =
        !node.data_deps.empty() || !node.ctrl_deps.empty() || computed_before_ != kNobody || started_;
    if (options_.flavor != TraceFlavor::kAstraSim || waits) return false;
    started_ = !may_take_no_time(cost.flops().count(), cost.moved().count());
    return !started_;
  }

  // That simulator has one collective or message of a rank under way at a time, and takes whichever can start
  // first. A collective that could start early keeps the rank from sending what its partners wait for before
  // they come to it: ranks wait for each other for ever. In the order of the program they do not, since that
  // is the order in which the ranks can run it, one instruction after the other. Receiving holds up nothing.
  void follow_communication(TraceNode& node) {
    if (node.type != NodeType::kCommColl && node.type != NodeType::kCommSend) return;
    if (last_communicated_ != kNobody) node.ctrl_deps.push_back(TraceNodeId{last_communicated_});
    last_communicated_ = next_id_;
  }

  // Values belong to their micro-batch, of which several are under way at once in a pipeline; within it each
  // is written once, before it is read.
  void add_data_flow(TraceNode& node, GraphState& state, const Graph& graph, const Op& op) {
    const auto add = [](std::vector<TraceNodeId>& list, std::uint64_t id) {
      if (id != kNobody) list.push_back(TraceNodeId{id});
    };
    std::vector<std::uint64_t>& writers = *writers_;
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) continue;
      const std::uint32_t root = state.root[index(input)];
      if (state.variable[root] == kValue) {
        check(writers[root] != kNobody || graph.tensors()[root].role != Role::kActivation,
              "a value is read before its micro-batch has written it");
        add(node.data_deps, writers[root]);
      } else {
        Accesses& accesses = variables_[state.variable[root]];
        add(node.data_deps, accesses.writer);
        accesses.readers.push_back(next_id_);
      }
    }
    for (const OpOutput& output : op.outputs) {
      const std::size_t tensor = index(output.tensor);
      if (state.variable[tensor] == kValue) {
        writers[tensor] = next_id_;
        continue;
      }
      Accesses& accesses = variables_[state.variable[tensor]];
      // What is added to must be there: that is data, not only order.
      add(output.accumulate ? node.data_deps : node.ctrl_deps, accesses.writer);
      for (const std::uint64_t reader : accesses.readers)
        if (reader != next_id_) add(node.ctrl_deps, reader);
      accesses.writer = next_id_;
      accesses.readers.clear();
    }
  }

  void list_tensors(const Graph& graph, const Op& op) {
    inputs_.open();
    outputs_.open();
    for (const TensorId input : op.inputs)
      if (input != kNoTensor) inputs_.add(graph.tensor(input));
    for (const OpOutput& output : op.outputs) outputs_.add(graph.tensor(output.tensor));
    inputs_.close();
    outputs_.close();
  }

  const Program& program_;
  const StepTraceOptions options_;
  Tensors inputs_, outputs_;  // of the latest node
  std::int64_t tags_per_micro_batch_ = 0;
  std::vector<GraphState> graphs_;
  std::unordered_map<std::string_view, std::uint32_t> variable_numbers_;
  std::vector<Accesses> variables_;
  std::map<RankBinding, Lane> lanes_;
  std::vector<bool> is_last_use_;                  // by instruction: of its graph by its micro-batch
  std::vector<std::vector<std::uint64_t>> spare_;  // memory of writers that are done with

  std::size_t instruction_ = 0;
  std::uint32_t op_ = 0;
  std::uint64_t next_id_ = 0;
  RankBinding binding_;
  // Of the instruction.
  std::vector<std::uint64_t>* writers_ = nullptr;
  std::uint64_t exchange_ = 0;  // the same for instructions whose transfers are posted together
  std::uint64_t first_id_ = 0;
  std::vector<bool> follows_schedule_;  // by node since first_id_: it waits for computed_before_
  std::uint64_t computed_before_ = kNobody;
  std::uint64_t last_computed_ = kNobody;
  bool started_ = false;                       // by a computation that waits for nothing and takes some time
  std::uint64_t last_communicated_ = kNobody;  // a collective, or a message that was sent
};

std::string_view to_string(TensorListing listing) {
  switch (listing) {
    case TensorListing::kFirstMicroBatch:
      return "first_micro_batch";
    case TensorListing::kAll:
      return "all";
    case TensorListing::kNone:
      return "none";
  }
  unreachable();
}

StepTracer::StepTracer(const Program& program, const StepTraceOptions& options)
    : state_(std::make_unique<State>(program, options)) {}
StepTracer::~StepTracer() = default;

const RankBinding& StepTracer::binding() const {
  return state_->binding();
}

bool StepTracer::next(TraceNode& node) {
  return state_->next(node);
}

void StepTracer::again() {
  state_->again();
}

Trace trace_step(const Program& program) {
  Trace trace;
  StepTracer tracer(program);
  TraceNode node;
  while (tracer.next(node)) trace.add(node);
  return trace;
}

}  // namespace nadi
