// Reverse-mode differentiation of a step graph.
//
// Method: one sweep over the forward ops marks the values that depend on a parameter; one sweep backwards
// calls the rule of every op whose output has a gradient. A recomputed segment (a chunk of transformer
// blocks, or the inside of one attention) is entered from its end: before the first rule of the segment runs,
// the ops that lead to anything its rules read are copied in forward order, and from then on the rules see
// the copies. What is gathered again (ops/gather_again.h) is no segment: its copy stands before the first
// rule that reads it, and where a segment gathers it, too, that copy is not kept either. Cost: linear in ops.

#include "nadi/graph/gradient.h"

#include <algorithm>
#include <map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/gather_again.h"

namespace nadi::inline describe {

std::string_view to_string(Recompute::Granularity granularity) {
  switch (granularity) {
    case Recompute::Granularity::kNone:
      return "none";
    case Recompute::Granularity::kSelective:
      return "selective";
    case Recompute::Granularity::kFull:
      return "full";
  }
  unreachable();
}

std::string_view to_string(Recompute::Method method) {
  switch (method) {
    case Recompute::Method::kUniform:
      return "uniform";
    case Recompute::Method::kBlock:
      return "block";
  }
  unreachable();
}

namespace {

// "gelu_grad" stays; a forward op that serves in the backward pass, such as dropout, becomes "dropout.grad".
std::string default_label(OpKind kind) {
  const std::string_view name = definition(kind).name;
  std::string label(name);
  if (!name.ends_with("_grad")) label += ".grad";
  return label;
}

}  // namespace

class BackwardPass {
 public:
  BackwardPass(GraphBuilder& builder, const BackwardOptions& options)
      : builder_(builder), options_(options), forward_ops_(builder.graph().ops().size()) {}

  Backward run();

 private:
  friend class GradientRule;

  void mark_dependents();
  void mark_made_again();
  void assign_segments();
  void recompute(std::int32_t segment);
  void visit(OpId id);
  TensorId make_again(TensorId tensor);
  void gather_again(TensorId tensor);
  void weights_behind_input(const Op& gather);

  // The parameter or value that a gradient of `tensor` is booked on.
  TensorId target_of(TensorId tensor) const;
  TensorId gradient_variable(TensorId parameter);
  void book(TensorId tensor, TensorId gradient);
  TensorId saved(TensorId tensor);       // as rules read it
  TensorId recomputed(TensorId tensor);  // as the copy of a segment's op reads it
  TensorId kept(TensorId tensor) const;  // itself, or what it is made again from
  bool runs_rule(const Op& op) const;
  bool depends(TensorId tensor) const { return tensor != kNoTensor && depends_[index(tensor)]; }

  GraphBuilder& builder_;
  const BackwardOptions& options_;
  const std::size_t forward_ops_;

  std::vector<char> depends_;                // by tensor: its gradient is wanted
  std::vector<std::int32_t> segment_of_;     // by forward op: recomputed segment, -1 for none
  std::vector<std::vector<OpId>> segments_;  // forward ops of each, in order
  std::vector<char> entered_;                // by segment
  std::vector<TensorId> recomputed_;         // by tensor: its copy, or kNoTensor
  std::vector<char> made_again_;             // by tensor: not kept, but made again for the rules that read it
  std::vector<TensorId> again_;              // by tensor: that copy, or kNoTensor
  std::vector<TensorId> gradients_;          // by tensor: of values
  std::map<TensorId, TensorId> variables_;   // by parameter
  Backward result_;
};

Backward BackwardPass::run() {
  // A pipeline stage that ends in a send starts with the gradient that its peer sends back.
  check(!options_.seeds.empty() || std::ranges::any_of(builder_.graph().ops(),
                                                       [](const Op& op) { return op.kind == OpKind::kSend; }),
        "a backward pass needs a place to start");
  const std::size_t tensors = builder_.graph().tensors().size();
  depends_.assign(tensors, 0);
  recomputed_.assign(tensors, kNoTensor);
  gradients_.assign(tensors, kNoTensor);
  again_.assign(tensors, kNoTensor);
  mark_dependents();
  mark_made_again();
  assign_segments();
  for (const auto& [value, gradient] : options_.seeds) book(target_of(value), gradient);
  for (std::size_t i = forward_ops_; i-- > 0;) visit(OpId{static_cast<std::uint32_t>(i)});
  for (const TensorId wanted : options_.with_respect_to)
    result_.with_respect_to.push_back(gradients_[index(wanted)]);
  return std::move(result_);
}

void BackwardPass::mark_dependents() {
  const Graph& graph = builder_.graph();
  for (const TensorId wanted : options_.with_respect_to) depends_[index(wanted)] = 1;
  for (const TensorId parameter : graph.tensors_with(Role::kParameter)) depends_[index(parameter)] = 1;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::kReceive &&
        std::ranges::none_of(op.inputs, [&](TensorId t) { return depends(t); }))
      continue;
    for (const OpOutput& output : op.outputs)
      if (is_floating(graph.tensor(output.tensor).dtype)) depends_[index(output.tensor)] = 1;
  }
}

void BackwardPass::mark_made_again() {
  const Graph& graph = builder_.graph();
  made_again_.assign(graph.tensors().size(), 0);
  for (const Op& op : graph.ops()) {
    const OpDefinition& def = definition(op.kind);
    const bool follows_input = def.straight_through || def.op_class == OpClass::kView;
    if (!is_gathered_again(op) && !(follows_input && made_again_[index(op.inputs[0])])) continue;
    for (const OpOutput& output : op.outputs) made_again_[index(output.tensor)] = 1;
  }
}

void BackwardPass::assign_segments() {
  segment_of_.assign(forward_ops_, -1);
  const Recompute& recompute = options_.recompute;
  if (recompute.granularity == Recompute::Granularity::kNone) return;
  check(recompute.layers >= 1, "recomputation takes at least one layer");
  std::map<std::int32_t, std::int32_t> segment_of_block;
  // Blocks count from the first that this graph holds: a later pipeline stage starts at its own.
  std::int32_t first_block = -1;
  for (std::size_t i = 0; i < forward_ops_; ++i) {
    const Op& op = builder_.graph().ops()[i];
    if (op.block < 0) continue;
    if (first_block < 0) first_block = op.block;
    const std::int32_t block = op.block - first_block;
    std::int32_t key = block;
    if (recompute.granularity == Recompute::Granularity::kSelective) {
      if (!op.core_attention) continue;
    } else if (recompute.method == Recompute::Method::kUniform) {
      key = block / recompute.layers;
    } else if (block >= recompute.layers) {
      continue;
    }
    const auto [entry, fresh] = segment_of_block.emplace(key, static_cast<std::int32_t>(segments_.size()));
    if (fresh) segments_.emplace_back();
    segment_of_[i] = entry->second;
    segments_[entry->second].push_back(OpId{static_cast<std::uint32_t>(i)});
  }
  entered_.assign(segments_.size(), 0);
}

bool BackwardPass::runs_rule(const Op& op) const {
  const OpDefinition& def = definition(op.kind);
  if (def.gradient == nullptr) return false;
  // What a peer sent may depend on the peer's parameters: its gradient goes back.
  if (op.kind == OpKind::kReceive) return true;
  return std::ranges::any_of(op.inputs, [&](TensorId tensor) { return depends(tensor); });
}

void BackwardPass::recompute(std::int32_t segment) {
  const std::vector<OpId>& ops = segments_[segment];
  // What the segment's rules read and its own ops made, then backwards what those need.
  std::map<TensorId, char> needed;
  for (const OpId id : ops) {
    const Op& op = builder_.graph().op(id);
    if (!runs_rule(op)) continue;
    const Saved saved = definition(op.kind).saves(OpView{builder_.graph(), op});
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if ((saved.inputs & bit(static_cast<int>(i))) && op.inputs[i] != kNoTensor)
        needed[kept(op.inputs[i])] = 1;
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      if (saved.outputs & bit(static_cast<int>(i))) needed[kept(op.outputs[i].tensor)] = 1;
  }
  std::vector<OpId> again;
  for (auto id = ops.rbegin(); id != ops.rend(); ++id) {
    const Op& op = builder_.graph().op(*id);
    if (std::ranges::none_of(op.outputs, [&](const OpOutput& out) { return needed.contains(out.tensor); }))
      continue;
    again.push_back(*id);
    for (const TensorId input : op.inputs)
      if (input != kNoTensor) needed[input] = 1;
  }
  std::ranges::reverse(again);
  for (const OpId id : again) {
    const Op op = builder_.graph().op(id);  // a copy: adding ops moves the originals
    NewOp copy{.kind = op.kind, .inputs = op.inputs, .attributes = op.attributes};
    for (TensorId& input : copy.inputs) input = recomputed(input);
    const auto scope = builder_.in_origin_of(op, Phase::kRecompute);
    copy.label = format("{}.recompute", definition(op.kind).name);
    const std::vector<TensorId> outputs = builder_.add(std::move(copy));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      check(!builder_.tensor(op.outputs[i].tensor).variable,
            "an op that writes a variable is not recomputed");
      recomputed_[index(op.outputs[i].tensor)] = outputs[i];
    }
  }
}

void BackwardPass::visit(OpId id) {
  const Op op = builder_.graph().op(id);  // a copy: adding ops moves the originals
  // A send has no output; its input's gradient comes from the peer.
  const bool reached = op.outputs.empty() || std::ranges::any_of(op.outputs, [&](const OpOutput& out) {
                         return gradients_[index(out.tensor)] != kNoTensor;
                       });
  if (!reached) return;
  const OpDefinition& def = definition(op.kind);
  if (def.gradient == nullptr && !def.straight_through)
    OpView{builder_.graph(), op}.refuse("has no gradient, but one is asked for");
  if (!runs_rule(op)) return;
  const std::int32_t segment = segment_of_[index(id)];
  if (segment >= 0 && !entered_[segment]) {
    entered_[segment] = 1;
    recompute(segment);
  }
  // On its way while the rule computes what does not need it.
  const Saved reads = def.saves != nullptr ? def.saves(OpView{builder_.graph(), op}) : Saved{};
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    if ((reads.inputs & bit(static_cast<int>(i))) && op.inputs[i] != kNoTensor) gather_again(op.inputs[i]);
  const auto scope = builder_.in_origin_of(op, Phase::kBackward);
  const OpView view{builder_.graph(), op};
  GradientRule rule(*this, view, id);
  definition(op.kind).gradient(rule);
}

TensorId BackwardPass::saved(TensorId tensor) {
  if (tensor == kNoTensor || index(tensor) >= recomputed_.size()) return tensor;
  if (made_again_[index(tensor)]) return make_again(tensor);
  const TensorId copy = recomputed_[index(tensor)];
  return copy == kNoTensor ? tensor : copy;
}

TensorId BackwardPass::recomputed(TensorId tensor) {
  if (tensor == kNoTensor || index(tensor) >= recomputed_.size()) return tensor;
  const TensorId copy = recomputed_[index(tensor)];
  return copy == kNoTensor ? saved(tensor) : copy;
}

TensorId BackwardPass::kept(TensorId tensor) const {
  while (made_again_[index(tensor)]) tensor = builder_.graph().op(builder_.tensor(tensor).producer).inputs[0];
  return tensor;
}

TensorId BackwardPass::make_again(TensorId tensor) {
  if (again_[index(tensor)] != kNoTensor) return again_[index(tensor)];
  const Op op = builder_.graph().op(builder_.tensor(tensor).producer);
  NewOp copy{.kind = op.kind, .inputs = op.inputs, .attributes = op.attributes};
  for (TensorId& input : copy.inputs) input = saved(input);
  const auto scope = builder_.in_origin_of(op, Phase::kBackward);
  copy.label = format("{}.again", definition(op.kind).name);
  const std::vector<TensorId> outputs = builder_.add(std::move(copy));
  for (std::size_t i = 0; i < outputs.size(); ++i) again_[index(op.outputs[i].tensor)] = outputs[i];
  return again_[index(tensor)];
}

// Makes again the gathered value that `tensor` is, or is a view or a rounding of.
void BackwardPass::gather_again(TensorId tensor) {
  while (made_again_[index(tensor)]) {
    const Op& op = builder_.graph().op(builder_.tensor(tensor).producer);
    if (is_gathered_again(op)) {
      make_again(tensor);
      return;
    }
    tensor = op.inputs[0];
  }
}

// The op added last reduces the gradient of what was gathered. The gradients of weights that were computed
// from the gathered value move behind it: nobody waits for them, and the reduction travels meanwhile.
void BackwardPass::weights_behind_input(const Op& gather) {
  const TensorId gathered = again_[index(gather.outputs[0].tensor)];
  if (gathered == kNoTensor) return;
  const auto first = static_cast<std::uint32_t>(builder_.tensor(gathered).producer);
  builder_.move_behind(first, [&](const Op& op) {
    return std::ranges::find(op.inputs, gathered) != op.inputs.end() &&
           std::ranges::all_of(op.outputs, [&](const OpOutput& output) {
             return builder_.tensor(output.tensor).role == Role::kGradient;
           });
  });
}

TensorId BackwardPass::target_of(TensorId tensor) const {
  const Graph& graph = builder_.graph();
  for (;;) {
    const OpId producer = graph.tensor(tensor).producer;
    if (producer == kNoOp || !definition(graph.op(producer).kind).straight_through) return tensor;
    tensor = graph.op(producer).inputs[0];
  }
}

TensorId BackwardPass::gradient_variable(TensorId parameter) {
  const auto found = variables_.find(parameter);
  if (found != variables_.end()) return found->second;
  const Tensor& tensor = builder_.tensor(parameter);
  const TensorId gradient = builder_.variable({.name = tensor.name + ".grad",
                                               .shape = tensor.shape,
                                               .dtype = DType::kF32,
                                               .role = Role::kGradient,
                                               .shards = tensor.shards});
  variables_.emplace(parameter, gradient);
  result_.parameters.push_back({parameter, gradient});
  return gradient;
}

void BackwardPass::book(TensorId tensor, TensorId gradient) {
  TensorId& booked = gradients_[index(tensor)];
  booked =
      booked == kNoTensor
          ? gradient
          : builder_.add_one({.kind = OpKind::kAdd, .inputs = {booked, gradient}, .label = "add_gradients"});
}

bool GradientRule::wants(int i) const {
  return view_.has(i) && pass_.depends(view_.op.inputs[i]);
}

TensorId GradientRule::input(int i) {
  if (!view_.has(i)) return kNoTensor;
  check(definition(view_.op.kind).saves(view_).inputs & bit(i),
        "a gradient rule reads an input it did not save");
  return pass_.saved(view_.op.inputs[i]);
}

TensorId GradientRule::output(int i) {
  check(definition(view_.op.kind).saves(view_).outputs & bit(i),
        "a gradient rule reads an output it did not save");
  check(static_cast<std::size_t>(i) < view_.op.outputs.size(),
        "an op that was built without what its gradient needs is differentiated");
  return pass_.saved(view_.op.outputs[i].tensor);
}

TensorId GradientRule::gradient(int i) const {
  return pass_.gradients_[index(view_.op.outputs[i].tensor)];
}

std::vector<TensorId> GradientRule::emit(NewOp op, std::initializer_list<int> of) {
  std::size_t k = 0;
  if (definition(op.kind).op_class == OpClass::kView) {
    // A view moves nothing, so it cannot fill a parameter's gradient; pass() copies where it must.
    const std::vector<TensorId> views = steps(std::move(op));
    for (const int i : of) pass(i, views[k++]);
    return views;
  }
  op.into.resize(of.size());
  for (const int i : of) {
    OpOutput& into = op.into[k++];
    if (i < 0 || !wants(i)) continue;
    const TensorId target = pass_.target_of(view_.op.inputs[i]);
    if (pass_.builder_.tensor(target).role != Role::kParameter) continue;
    const bool again = pass_.variables_.contains(target);
    into = {pass_.gradient_variable(target), pass_.options_.accumulate || again};
  }
  if (op.label.empty()) op.label = default_label(op.kind);
  std::vector<TensorId> outputs = pass_.builder_.add(std::move(op));
  if (is_gathered_again(view_.op)) pass_.weights_behind_input(view_.op);
  k = 0;
  for (const int i : of) {
    const TensorId output = outputs[k++];
    if (i < 0 || !wants(i)) continue;
    const TensorId target = pass_.target_of(view_.op.inputs[i]);
    if (pass_.builder_.tensor(target).role != Role::kParameter) pass_.book(target, output);
  }
  return outputs;
}

void GradientRule::pass(int i, TensorId gradient) {
  if (!wants(i)) return;
  const TensorId target = pass_.target_of(view_.op.inputs[i]);
  if (pass_.builder_.tensor(target).role == Role::kParameter)
    emit({.kind = OpKind::kCopy, .inputs = {gradient}}, {i});
  else
    pass_.book(target, gradient);
}

std::vector<TensorId> GradientRule::steps(NewOp op) {
  if (op.label.empty()) op.label = default_label(op.kind);
  return pass_.builder_.add(std::move(op));
}

Backward add_backward(GraphBuilder& builder, const BackwardOptions& options) {
  return BackwardPass(builder, options).run();
}

}  // namespace nadi::inline describe
