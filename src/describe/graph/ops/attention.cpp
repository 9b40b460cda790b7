#include "nadi/graph/ops/attention.h"

#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/graph/ops/definitions.h"
#include "nadi/graph/ops/dropout.h"
#include "nadi/graph/ops/matmul.h"
#include "nadi/graph/ops/repeat_heads.h"
#include "nadi/graph/ops/softmax.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline describe {
namespace {

using namespace attention_input;

// Fused or not, the same elements are dropped.
constexpr std::string_view kDropoutPurpose = "attention";

const std::vector<AttributeSpec> kAttributes{{"heads", std::int64_t{1}},
                                             {"kv_heads", std::int64_t{1}},
                                             {"causal", false},
                                             {"scale", 1.0},
                                             {"dropout", 0.0},
                                             {"site", std::int64_t{0}},
                                             {"save_statistics", false},
                                             {"whole_heads", std::int64_t{0}},
                                             {"causal_pairs", std::int64_t{0}}};

void check_operands(const OpView& op) {
  const std::int64_t H = op.attributes().integer("heads");
  const std::int64_t K = op.attributes().integer("kv_heads");
  if (!(H >= 1 && K >= 1 && H % K == 0))
    op.refuse(format("{} heads are not a multiple of {} key-value heads", H, K));
  op.require(op.has(kK) == op.has(kV), "keys and values must be given together");
  op.require(op.in(kQ).rank() == 3, "queries must be [B, T, H*D]");
  const std::int64_t width = op.in(kQ)[2];
  if (op.has(kK)) {
    if (!(width % H == 0)) op.refuse(format("width {} is not a multiple of {} heads", width, H));
    op.require(op.in(kK).rank() == 3 && op.in(kK) == op.in(kV) && op.in(kK)[0] == op.in(kQ)[0] &&
                   op.in(kK)[2] == width / H * K,
               "keys and values must be [B, S, K*D]");
    op.require(op.has(kPositions) || op.has(kQueryPositions) || !op.attributes().boolean("causal") ||
                   op.in(kK)[1] == op.in(kQ)[1],
               "causal attention needs positions when the numbers of queries and keys differ");
  } else {
    if (!(width % (H + 2 * K) == 0))
      op.refuse(format("packed width {} is not a multiple of {} heads", width, H + 2 * K));
  }
  for (const int per_sequence : {kPositions, kLengths})
    if (op.has(per_sequence))
      op.require(op.in(per_sequence) == Shape{op.in(kQ)[0]}, "positions and lengths must be [B]");
  op.require(op.attributes().real("dropout") == 0 || op.has(kRandom), "dropout needs its random key");
  op.require(op.has(kQueryPositions) == op.has(kKeyPositions),
             "query positions and key positions must be given together");
  if (op.has(kQueryPositions))
    op.require(op.has(kK) && !op.has(kPositions) && op.in(kQueryPositions) == Shape{op.in(kQ)[1]} &&
                   op.in(kKeyPositions) == Shape{op.in(kK)[1]},
               "query positions must be [T], key positions [S], and q and k must not be packed");
  if (op.has(kHeadIds)) op.require(op.in(kHeadIds) == Shape{H}, "head ids must be [H]");
}

std::vector<OutputSpec> infer(const OpView& op) {
  check_operands(op);
  const AttentionExtents e = attention_extents(op);
  std::vector<OutputSpec> outputs{{Shape{e.B, e.T, e.H * e.D}, op.input(kQ).dtype}};
  // Per query the logarithm of the softmax's denominator.
  if (op.attributes().boolean("save_statistics")) outputs.push_back({Shape{e.B, e.H, e.T}, DType::kF32});
  return outputs;
}

std::vector<OutputSpec> infer_grad(const OpView& op) {
  check_operands(op);
  op.require(op.in(kY) == op.in(kDy), "the result and its gradient differ in shape");
  const DType dtype = op.input(kDy).dtype;
  if (!op.has(kK)) return {{op.in(kQ), dtype}};
  return {{op.in(kQ), dtype}, {op.in(kK), dtype}, {op.in(kV), dtype}};
}

// How many (query, key) pairs of one head and sequence are computed.
std::int64_t pairs(const OpView& op, const CostContext& context) {
  const AttentionExtents e = attention_extents(op);
  if (!op.attributes().boolean("causal")) return e.T * e.S;
  if (op.has(kQueryPositions)) return op.attributes().integer("causal_pairs");
  const std::int64_t among_new = e.T * (e.T + 1) / 2;
  if (!op.has(kPositions)) return among_new;
  const std::int64_t position = context.position.value_or(e.S - e.T);
  return e.T * position + among_new;
}

// Per pair: scale, maximum, subtract, exp, sum, divide.
constexpr std::int64_t kSoftmaxFlops = 6;
// Per pair: scale, subtract, exp to get the probabilities back; subtract, multiply, scale for their gradient.
constexpr std::int64_t kSoftmaxGradFlops = 6;

// Two products forward (scores, context); five backward: scores again, d values, d probabilities, d queries,
// d keys. A product takes 2 D per pair.
void add_cost(const OpView& op, const CostContext& context, OpCost& cost, std::int64_t products,
              std::int64_t vector_per_pair) {
  const AttentionExtents e = attention_extents(op);
  const std::int64_t all_pairs = checked_multiply(e.B * e.H, pairs(op, context), "attention scores");
  cost.matrix += Flops{2 * products * e.D} * all_pairs;
  const bool drops = op.attributes().real("dropout") > 0;
  cost.vector += Flops{all_pairs} * (vector_per_pair + (drops ? 2 : 0));
  if (op.has(kPositions) && context.position) {
    // Only the filled part of a cache is read.
    const Bytes row = Bytes{size_of(op.input(kK).dtype)} * (e.B * e.K * e.D);
    const std::int64_t unread = e.S - (*context.position + e.T);
    if (unread > 0) cost.read -= row * (2 * unread);
  }
}

void cost(const OpView& op, const CostContext& context, OpCost& cost) {
  add_cost(op, context, cost, 2, kSoftmaxFlops);
}

void cost_grad(const OpView& op, const CostContext& context, OpCost& cost) {
  add_cost(op, context, cost, 5, kSoftmaxGradFlops);
  // Sum of y * dy per query.
  cost.vector += Flops{op.in(kY).elements()} * 2;
}

Saved saves(const OpView&) {
  return {.inputs = bit(kQ) | bit(kK) | bit(kV) | bit(kPositions) | bit(kLengths) | bit(kRandom) |
                    bit(kQueryPositions) | bit(kKeyPositions) | bit(kHeadIds),
          .outputs = bit(0) | bit(1)};
}

void gradient(GradientRule& rule) {
  NewOp op{
      .kind = OpKind::kAttentionGrad,
      .inputs = {rule.input(kQ), rule.input(kK), rule.input(kV), rule.input(kPositions), rule.input(kLengths),
                 rule.input(kRandom), rule.input(kQueryPositions), rule.input(kKeyPositions),
                 rule.input(kHeadIds), rule.output(0), rule.output(1), rule.gradient(0)},
      .attributes = rule.attributes()};
  if (rule.has(kK))
    rule.emit(std::move(op), {kQ, kK, kV});
  else
    rule.emit(std::move(op), {kQ});
}

double resolved_scale(const AttentionArgs& args, std::int64_t head_width) {
  return args.scale != 0 ? args.scale : 1 / std::sqrt(static_cast<double>(head_width));
}

}  // namespace

AttentionExtents attention_extents(const OpView& op) {
  const std::int64_t H = op.attributes().integer("heads");
  const std::int64_t K = op.attributes().integer("kv_heads");
  const Shape& q = op.in(kQ);
  const bool packed = !op.has(kK);
  return {.B = q[0],
          .T = q[1],
          .S = packed ? q[1] : op.in(kK)[1],
          .H = H,
          .K = K,
          .D = packed ? q[2] / (H + 2 * K) : q[2] / H};
}

TensorId fused_attention(GraphBuilder& builder, const AttentionArgs& args) {
  const bool packed = args.k == kNoTensor;
  const std::int64_t width = builder.shape(args.q)[-1];
  const std::int64_t head_width = width / (packed ? args.heads + 2 * args.kv_heads : args.heads);
  return builder.add_one({.kind = OpKind::kAttention,
                          .inputs = {args.q, args.k, args.v, args.positions, args.lengths, args.random,
                                     args.query_positions, args.key_positions, args.head_ids},
                          .attributes = {{"heads", args.heads},
                                         {"kv_heads", args.kv_heads},
                                         {"causal", args.causal},
                                         {"scale", resolved_scale(args, head_width)},
                                         {"dropout", args.dropout},
                                         {"site", dropout_site(builder, kDropoutPurpose)},
                                         {"save_statistics", args.training},
                                         {"whole_heads", args.whole_heads},
                                         {"causal_pairs", args.causal_pairs}}});
}

TensorId unfused_attention(GraphBuilder& builder, const AttentionArgs& args) {
  check(args.k != kNoTensor && args.positions == kNoTensor && args.query_positions == kNoTensor,
        "unfused attention takes q, k and v of the same tokens");
  const Shape q = builder.shape(args.q);
  const std::int64_t B = q[0], T = q[1], H = args.heads, D = q[2] / H, S = builder.shape(args.k)[1];
  const auto heads_first = [&](TensorId x, std::int64_t tokens, std::int64_t heads) {
    return permute(builder, reshape(builder, x, Shape{B, tokens, heads, D}), {0, 2, 1, 3});
  };
  const auto scope = builder.in_core_attention();
  const TensorId queries = heads_first(args.q, T, H);
  TensorId keys = heads_first(args.k, S, args.kv_heads);
  TensorId values = heads_first(args.v, S, args.kv_heads);
  if (args.kv_heads != H) {
    keys = repeat_heads(builder, keys, H / args.kv_heads);
    values = repeat_heads(builder, values, H / args.kv_heads);
  }
  const TensorId scores = matmul(
      builder,
      {.a = queries, .b = keys, .transpose_b = true, .batch_axes = 2, .alpha = resolved_scale(args, D)});
  TensorId weights = softmax(builder, {.x = scores, .lengths = args.lengths, .causal = args.causal});
  weights = dropout(builder, {.x = weights,
                              .random = args.random,
                              .rate = args.dropout,
                              .purpose = kDropoutPurpose,
                              .rows = args.head_ids,
                              .whole_rows = args.whole_heads});
  const TensorId context = matmul(builder, {.a = weights, .b = values, .batch_axes = 2});
  // Bring the heads of a token together again; this one moves memory.
  const TensorId tokens_first = copy(builder, permute(builder, context, {0, 2, 1, 3}));
  return reshape(builder, tokens_first, Shape{B, T, H * D});
}

OpDefinition attention_definition() {
  return {.kind = OpKind::kAttention,
          .name = "attention",
          .attributes = kAttributes,
          .inputs = {"q", "k?", "v?", "positions?", "lengths?", "random?", "query_positions?",
                     "key_positions?", "head_ids?"},
          .infer = infer,
          .cost = cost,
          .saves = saves,
          .gradient = gradient};
}

OpDefinition attention_grad_definition() {
  return {.kind = OpKind::kAttentionGrad,
          .name = "attention_grad",
          .attributes = kAttributes,
          .inputs = {"q", "k?", "v?", "positions?", "lengths?", "random?", "query_positions?",
                     "key_positions?", "head_ids?", "y", "statistics", "dy"},
          .infer = infer_grad,
          .cost = cost_grad};
}

}  // namespace nadi::inline describe
