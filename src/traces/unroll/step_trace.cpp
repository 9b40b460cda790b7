#include "nadi/unroll/step_trace.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/parallel/step_walk.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/roofline_start.h"
#include "nadi/unroll/collective_type.h"

namespace nadi::inline traces {
namespace {

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
  State(const Program& program, const StepTraceOptions& options)
      : options_(options), walk_(program, {.plan = options.plan}) {}

  bool next(TraceNode& node) {
    if (!walk_.next(at_)) return false;
    const Op& op = *at_.op;
    node.clear();
    node.id = TraceNodeId{to_number(at_.id)};
    node.name = op.name;
    if (options_.tensors == TensorListing::kAll ||
        (options_.tensors == TensorListing::kFirstMicroBatch && at_.micro_batch == 0)) {
      list_tensors();
      node.inputs = inputs_.io();
      node.outputs = outputs_.io();
    }
    add_is_cpu_op(node, false);
    add_kind_of_work(node);
    add_borrowed(node, "op", to_string(op.kind));
    add_borrowed(node, "layer", at_.graph->layer(op.layer));
    add_borrowed(node, "phase", to_string(op.phase));
    if (at_.section->name != to_string(op.phase)) add_borrowed(node, "section", at_.section->name);
    node.attributes.add_int64("micro_batch", at_.micro_batch);
    add_dependencies(node);
    return true;
  }

  void again() { walk_.again(); }

  const RankBinding& binding() const { return at_.binding; }

 private:
  // A text that lives as long as the program.
  static void add_borrowed(TraceNode& node, std::string_view name, std::string_view text) {
    TraceAttribute attribute;
    attribute.name = name;
    attribute.kind = TraceAttributeKind::kString;
    attribute.text = text;
    node.attributes.add_borrowed(attribute);
  }

  void add_kind_of_work(TraceNode& node) {
    const OpCost& cost = at_.cost;
    switch (at_.binding.kind) {
      case RankBinding::Kind::kNone:
        node.type = NodeType::kComp;
        add_work(node, cost.flops(), starts_in_no_time() ? Bytes{kBytesOfANanosecond} : cost.moved());
        return;
      case RankBinding::Kind::kCollective:
        add_collective(node);
        break;
      case RankBinding::Kind::kSend:
      case RankBinding::Kind::kReceive:
        node.type = at_.binding.kind == RankBinding::Kind::kSend ? NodeType::kCommSend : NodeType::kCommRecv;
        add_comm_size(node, at_.bytes);
        add_comm_tag(node, at_.tag);
        break;
    }
    check(options_.plan != nullptr, "a program with communication is traced with its plan");
    check(cost.flops().count() == 0, "communication does no floating-point work");
  }

  void add_collective(TraceNode& node) {
    const Op& op = *at_.op;
    if (options_.flavor == TraceFlavor::kAstraSim && op.kind == OpKind::kReduce)
      throw Error{ErrorKind::kInfeasible,
                  {},
                  format("op '{}' is a reduce, at which ASTRA-sim stops", op.name),
                  "write the trace in the chakra flavor"};
    node.type = NodeType::kCommColl;
    add_comm_type(node, collective_type(op.kind));
    add_comm_size(node, at_.bytes);
    if (op.kind == OpKind::kAllReduce) add_borrowed(node, "reduce_op", op.attributes.text("op"));
  }

  void add_dependencies(TraceNode& node) {
    const auto add = [](std::vector<TraceNodeId>& list, const std::vector<StepOpId>& ids) {
      for (const StepOpId id : ids) list.push_back(TraceNodeId{to_number(id)});
    };
    add(node.data_deps, at_.data);
    if (options_.flavor == TraceFlavor::kChakra) return add(node.ctrl_deps, at_.order);
    add(node.data_deps, at_.order);
    follow_communication(node);
    std::ranges::sort(node.data_deps);
    node.data_deps.erase(std::unique(node.data_deps.begin(), node.data_deps.end()), node.data_deps.end());
  }

  // That simulator stops at a first computation that its roofline does in less than a nanosecond, such as the
  // filling of four bytes at the start of the last stage. So what waits for nothing and may take no time
  // moves as much memory as takes a nanosecond, up to a computation that waits for nothing either and takes
  // longer.
  bool starts_in_no_time() {
    if (options_.flavor != TraceFlavor::kAstraSim || at_.waits() || started_) return false;
    started_ = !may_take_no_time(at_.cost.flops().count(), at_.cost.moved().count());
    return !started_;
  }

  // That simulator has one collective or message of a rank under way at a time, and takes whichever can start
  // first. A collective that could start early keeps the rank from sending what its partners wait for before
  // they come to it: ranks wait for each other for ever. So a collective waits for the collective and for all
  // that is sent before it in the program, whose order is one in which the ranks can run it. Sending waits
  // for no partner there, so it holds up nobody and need not wait for a collective: a stage hands its
  // gradients on while its buckets are still reduced. Receiving takes no part.
  void follow_communication(TraceNode& node) {
    if (node.type == NodeType::kCommSend) {
      sent_.push_back(node.id);
      return;
    }
    if (node.type != NodeType::kCommColl) return;
    node.data_deps.insert(node.data_deps.end(), sent_.begin(), sent_.end());
    sent_.clear();
    if (last_collective_) node.data_deps.push_back(*last_collective_);
    last_collective_ = node.id;
  }

  void list_tensors() {
    inputs_.open();
    outputs_.open();
    for (const TensorId input : at_.op->inputs)
      if (input != kNoTensor) inputs_.add(at_.graph->tensor(input));
    for (const OpOutput& output : at_.op->outputs) outputs_.add(at_.graph->tensor(output.tensor));
    inputs_.close();
    outputs_.close();
  }

  const StepTraceOptions options_;
  StepWalk walk_;
  StepOp at_;                 // of the latest node
  Tensors inputs_, outputs_;  // of the latest node
  bool started_ = false;      // by a computation that waits for nothing and takes some time
  std::optional<TraceNodeId> last_collective_;
  std::vector<TraceNodeId> sent_;  // since then
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

}  // namespace nadi::inline traces
