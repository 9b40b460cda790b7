// Method: walks the ops of each section in order, views left out. At each op the rules are tried in the order
// of the table; the first that matches takes its ops.

#include "nadi/cuda/fusing.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/round_up.h"
#include "nadi/cuda/joined_runs.h"
#include "nadi/cuda/kernel_needs.h"
#include "nadi/cuda/loss_with_gradient.h"
#include "nadi/engine/kernel_plan.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda {
namespace {

// The ops of a section without views, from one of them on.
class OpChain {
 public:
  OpChain(const JoinedRuns& runs, std::span<const std::uint32_t> ops, std::span<const std::uint32_t> readers)
      : graph_(runs.graph()), runs_(runs), ops_(ops), readers_(readers) {}

  const JoinedRuns& runs() const { return runs_; }
  std::span<const std::uint32_t> ops() const { return ops_; }

  bool is(std::size_t at, OpKind kind) const { return at < ops_.size() && op(at).kind == kind; }
  bool is_norm(std::size_t at) const { return is(at, OpKind::kLayerNorm) || is(at, OpKind::kRmsNorm); }
  const Op& op(std::size_t at) const { return graph_.ops()[ops_[at]]; }
  OpView view(std::size_t at) const { return OpView{graph_, op(at)}; }
  TensorId output(std::size_t at) const { return op(at).outputs[0].tensor; }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }

  bool reads(std::size_t at, TensorId value) const {
    return std::ranges::find(op(at).inputs, value) != op(at).inputs.end();
  }
  // Op `from` is followed by the op `at`, which reads its result, among others or alone.
  bool feeds(std::size_t from, std::size_t at) const {
    return at < ops_.size() && reads(at, output(from)) && !op(from).outputs[0].accumulate;
  }
  // Nobody else does.
  bool feeds_only(std::size_t from, std::size_t at) const {
    return feeds(from, at) && readers_[index(output(from))] == 1 && !tensor(output(from)).variable;
  }
  bool adds_alike(std::size_t at) const {
    return is(at, OpKind::kAdd) && tensor(op(at).inputs[0]).shape == tensor(op(at).inputs[1]).shape &&
           tensor(op(at).inputs[0]).dtype == tensor(op(at).inputs[1]).dtype;
  }
  bool sums_rows(std::size_t at) const {
    return is(at, OpKind::kSumRows) && op(at).attributes.integer("kept_axes") == 1;
  }
  bool has_input(std::size_t at, std::size_t i) const {
    return i < op(at).inputs.size() && op(at).inputs[i] != kNoTensor;
  }

 private:
  const Graph& graph_;
  const JoinedRuns& runs_;
  std::span<const std::uint32_t> ops_;
  std::span<const std::uint32_t> readers_;  // by tensor: how many inputs it is
};

// Each returns how many ops from the first on it takes; 0 means it does not match.
std::size_t residual_norm(const OpChain& chain) {
  std::size_t at = 0;
  if (chain.is(0, OpKind::kDropout) && chain.feeds(0, 1)) at = 1;
  if (!chain.adds_alike(at) || !chain.is_norm(at + 1) || !chain.feeds(at, at + 1)) return 0;
  return chain.op(at + 1).inputs[0] == chain.output(at) ? at + 2 : 0;
}

std::size_t norm_grad_sum(const OpChain& chain) {
  if (!chain.is(0, OpKind::kLayerNormGrad) && !chain.is(0, OpKind::kRmsNormGrad)) return 0;
  std::size_t last = 0;
  if (chain.adds_alike(1) && chain.feeds(0, 1)) last = 1;
  if (chain.is(last + 1, OpKind::kDropout) && chain.feeds(last, last + 1)) ++last;
  if (chain.sums_rows(last + 1) && chain.feeds(last, last + 1)) ++last;
  return last == 0 ? 0 : last + 1;
}

std::size_t gelu_grad_sums(const OpChain& chain) {
  return chain.is(0, OpKind::kGeluGrad) && chain.sums_rows(1) && chain.feeds(0, 1) ? 2 : 0;
}

std::size_t loss_grad_sums(const OpChain& chain) {
  return chain.is(0, OpKind::kCrossEntropyGrad) && chain.sums_rows(1) && chain.feeds(0, 1) ? 2 : 0;
}

// One product without scales and without a second output; it may have an activation.
bool is_one_product(const OpChain& chain, std::size_t at) {
  return chain.is(at, OpKind::kMatmul) && chain.op(at).attributes.integer("batch_axes") == 0 &&
         chain.op(at).outputs.size() == 1 && !chain.has_input(at, 3) && !chain.has_input(at, 4);
}

bool is_linear(const OpChain& chain, std::size_t at) {
  return is_one_product(chain, at) && chain.op(at).attributes.text("activation") == "none";
}

std::size_t matmul_add(const OpChain& chain) {
  if (!is_linear(chain, 0) || !chain.adds_alike(1) || !chain.feeds_only(0, 1)) return 0;
  if (chain.has_input(0, 2)) return 0;
  if (chain.is_norm(2) && chain.feeds(1, 2)) return 0;  // the sum is better taken with the norm
  return 2;
}

bool is_plain_embedding(const OpChain& chain, std::size_t at) {
  return chain.is(at, OpKind::kEmbedding) && !chain.has_input(at, 2);
}

std::size_t embeddings_sum(const OpChain& chain) {
  if (!is_plain_embedding(chain, 0) || !is_plain_embedding(chain, 1) || !chain.is(2, OpKind::kAdd)) return 0;
  if (!chain.feeds_only(0, 2) || !chain.feeds_only(1, 2) || chain.op(2).inputs[0] != chain.output(0))
    return 0;
  if (is_plain_embedding(chain, 3) && chain.is(4, OpKind::kAdd) && chain.feeds_only(2, 4) &&
      chain.feeds_only(3, 4) && chain.op(4).inputs[0] == chain.output(2))
    return 5;
  return 3;
}

// A product of few rows with a parameter.
bool is_few_rows(const OpChain& chain, std::size_t at) {
  if (!is_one_product(chain, at)) return false;
  const Op& op = chain.op(at);
  return matmul_extents(chain.view(at)).m <= kFewRows && !op.attributes.boolean("transpose_a") &&
         chain.tensor(op.inputs[1]).role == Role::kParameter && op.attributes.real("alpha") == 1 &&
         chain.tensor(op.inputs[0]).dtype == chain.tensor(op.inputs[1]).dtype &&
         chain.tensor(op.outputs[0].tensor).dtype == chain.tensor(op.inputs[0]).dtype;
}

std::size_t gated_products(const OpChain& chain) {
  const std::size_t first = chain.is(0, OpKind::kRmsNorm) && chain.feeds(0, 1) ? 1 : 0;
  if (!is_few_rows(chain, first) || !is_few_rows(chain, first + 1) || !chain.is(first + 2, OpKind::kSwiglu))
    return 0;
  if (!is_linear(chain, first) || !is_linear(chain, first + 1)) return 0;
  if (chain.op(first).inputs[0] != chain.op(first + 1).inputs[0]) return 0;
  if (first == 1 && chain.op(1).inputs[0] != chain.output(0)) return 0;
  if (!chain.feeds_only(first, first + 2) || !chain.feeds_only(first + 1, first + 2)) return 0;
  if (chain.has_input(first, 2) || chain.has_input(first + 1, 2)) return 0;
  return first + 3;
}

std::size_t norm_products(const OpChain& chain) {
  constexpr int kMostProducts = 3;
  if (!chain.is_norm(0)) return 0;
  std::size_t next = 1;
  for (int products = 0; products < kMostProducts; ++products) {
    if (!is_few_rows(chain, next) || chain.op(next).inputs[0] != chain.output(0)) break;
    ++next;
    if (chain.is(next, OpKind::kRotary) && is_linear(chain, next - 1) && chain.feeds_only(next - 1, next))
      ++next;
  }
  if (next == 1) return 0;
  // Results that go to a KV cache are written there at once.
  const std::size_t end = next;
  const auto is_result = [&](TensorId value) {
    for (std::size_t at = 1; at < end; ++at)
      if (chain.output(at) == value) return true;
    return false;
  };
  while (chain.is(next, OpKind::kCacheWrite) && is_result(chain.op(next).inputs[1])) ++next;
  return next;
}

std::size_t product_add(const OpChain& chain) {
  if (!is_few_rows(chain, 0) || !is_linear(chain, 0) || !chain.adds_alike(1) || !chain.feeds_only(0, 1))
    return 0;
  return 2;
}

std::size_t joined_results(const OpChain& chain) {
  const std::optional<ResultsRun> run = chain.runs().results(chain.ops());
  return run ? run->ops : 0;
}

std::size_t joined_gradients(const OpChain& chain) {
  const std::optional<GradientsRun> run = chain.runs().gradients(chain.ops());
  return run ? run->ops : 0;
}

struct Rule {
  FusedKind kind;
  std::size_t (*match)(const OpChain& chain);
};
constexpr std::array kRules{
    Rule{FusedKind::kGatedProducts, gated_products},     Rule{FusedKind::kNormProducts, norm_products},
    Rule{FusedKind::kProductAdd, product_add},           Rule{FusedKind::kJoinedResults, joined_results},
    Rule{FusedKind::kJoinedGradients, joined_gradients}, Rule{FusedKind::kResidualNorm, residual_norm},
    Rule{FusedKind::kNormGradSum, norm_grad_sum},        Rule{FusedKind::kGeluGradSums, gelu_grad_sums},
    Rule{FusedKind::kLossGradSums, loss_grad_sums},      Rule{FusedKind::kMatmulAdd, matmul_add},
    Rule{FusedKind::kEmbeddingsSum, embeddings_sum},
};

// Variables that lie one after the other are done by one call.
constexpr std::array kUpdateKinds{OpKind::kFill, OpKind::kAdamW, OpKind::kSgd};

// Both kernels of each.
std::vector<FusedOps> losses_with_gradients(const Program& program, std::size_t g,
                                            const DeviceTraits& traits) {
  std::vector<FusedOps> losses;
  const std::span<const Op> ops = program.graphs[g].ops();
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != OpKind::kCrossEntropy) continue;
    const std::optional<GradientOfLoss> gradient = gradient_with_loss(program, g, i, traits);
    if (!gradient) continue;
    losses.push_back({i, i + 1, FusedKind::kLossWithGradient, gradient->first, gradient->end});
    losses.push_back({gradient->first, gradient->end, FusedKind::kGradientOfLoss});
  }
  return losses;
}

std::vector<std::uint32_t> count_readers(const Graph& graph) {
  std::vector<std::uint32_t> readers(graph.tensors().size(), 0);
  for (const Op& op : graph.ops())
    for (const TensorId input : op.inputs)
      if (input != kNoTensor) ++readers[index(input)];
  return readers;
}

}  // namespace

std::string_view to_string(FusedKind kind) {
  switch (kind) {
    case FusedKind::kNone:
      return "single";
    case FusedKind::kUpdates:
      return "updates";
    case FusedKind::kResidualNorm:
      return "residual_norm";
    case FusedKind::kNormGradSum:
      return "norm_grad_sum";
    case FusedKind::kGeluGradSums:
      return "gelu_grad_sums";
    case FusedKind::kLossGradSums:
      return "loss_grad_sums";
    case FusedKind::kLossWithGradient:
      return "loss_with_gradient";
    case FusedKind::kGradientOfLoss:
      return "gradient_of_loss";
    case FusedKind::kMatmulAdd:
      return "matmul_add";
    case FusedKind::kEmbeddingsSum:
      return "embeddings_sum";
    case FusedKind::kJoinedResults:
      return "joined_results";
    case FusedKind::kJoinedGradients:
      return "joined_gradients";
    case FusedKind::kNormProducts:
      return "norm_products";
    case FusedKind::kGatedProducts:
      return "gated_products";
    case FusedKind::kProductAdd:
      return "product_add";
  }
  unreachable();
}

std::vector<FusedOps> fused_ops(const Program& program, std::size_t g, const DeviceTraits& traits) {
  const Graph& graph = program.graphs[g];
  const std::vector<std::uint32_t> readers = count_readers(graph);
  const JoinedRuns runs(program, g);
  std::vector<FusedOps> fused;
  for (const OpRun& run : neighbouring_ops(program, g, kUpdateKinds))
    fused.push_back({run.first, run.end, FusedKind::kUpdates});
  const std::vector<FusedOps> losses = losses_with_gradients(program, g, traits);
  fused.insert(fused.end(), losses.begin(), losses.end());
  const auto is_taken = [&](std::uint32_t op) {
    return std::ranges::any_of(losses, [op](const FusedOps& of) { return of.first <= op && op < of.end; });
  };
  std::vector<std::uint32_t> ops;
  for (const Section& section : program.sections) {
    if (section.graph != g) continue;
    ops.clear();
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      if (definition(graph.ops()[i].kind).op_class != OpClass::kView) ops.push_back(i);
    for (std::size_t at = 0; at < ops.size();) {
      const std::span behind = std::span(ops).subspan(at);
      const auto until = std::ranges::find_if(behind, is_taken);
      const OpChain chain(runs, {behind.begin(), until}, readers);
      std::size_t taken = 0;
      for (const Rule& rule : kRules) {
        if (chain.ops().empty()) break;
        taken = rule.match(chain);
        if (taken == 0) continue;
        fused.push_back({ops[at], ops[at + taken - 1] + 1, rule.kind});
        break;
      }
      at += std::max<std::size_t>(taken, 1);
    }
  }
  std::ranges::sort(fused, {}, &FusedOps::first);
  return fused;
}

std::int64_t fused_workspace(const Graph& graph, const FusedOps& ops, const DeviceTraits& traits) {
  std::int64_t sum = 0, product = 0;
  // These run their ops one by one where operands are not as they like them (ops_one_by_one.h): what the ops
  // hand to each other is then in the workspace.
  const bool decodes = ops.kind == FusedKind::kNormProducts || ops.kind == FusedKind::kGatedProducts ||
                       ops.kind == FusedKind::kProductAdd;
  for (std::uint32_t i = ops.first; i < ops.end; ++i) {
    const Op& op = graph.ops()[i];
    const KernelNeeds& needs = kernel_needs(op.kind);
    if (decodes)
      for (const OpOutput& output : op.outputs) {
        const Tensor& tensor = graph.tensor(output.tensor);
        sum += rounded_up(tensor.shape.elements() * size_of(tensor.dtype), kDeviceAlignment);
      }
    if (needs.workspace == nullptr) continue;
    if (op.kind == OpKind::kMatmul)
      product = kProductWorkspace;
    else
      sum += needs.workspace(OpView{graph, op}, traits);
  }
  if (ops.kind == FusedKind::kLossWithGradient && ops.ahead_end - ops.ahead_first > 1) {
    const Tensor& logits = graph.tensor(graph.ops()[ops.first].inputs[0]);
    const std::int64_t columns = logits.shape[-1];
    sum += loss_sums_workspace(logits.shape.elements() / columns, columns, traits);
  }
  return sum + product;
}

}  // namespace nadi::inline engines::cuda
