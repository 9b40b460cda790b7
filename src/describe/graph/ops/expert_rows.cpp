#include "nadi/graph/ops/expert_rows.h"

#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/graph/gradient_rule.h"
#include "nadi/graph/ops/definitions.h"
#include "nadi/graph/ops/views.h"

namespace nadi::inline describe {
namespace {

// Reading a number, counting it, and writing its place.
constexpr std::int64_t kPlaceFlops = 3;

bool integers_of(const OpView& op, std::size_t input) {
  return op.input(input).dtype == DType::kI32;
}

std::vector<OutputSpec> infer_place(const OpView& op) {
  const std::int64_t experts = op.attributes().integer("experts");
  const double factor = op.attributes().real("capacity_factor");
  op.require(integers_of(op, 0) && op.in(0).rank() >= 1, "experts must be i32 [..., experts per token]");
  op.require(experts >= 1, "there must be an expert");
  op.require(factor >= 0 && std::isfinite(factor), "the capacity factor must not be negative");
  op.require(!op.has(1) || op.in(1) == op.in(0), "experts and weights differ in shape");
  const bool by_weight = drop_policy_named(op.attributes().text("policy")) == DropPolicy::kProbs;
  op.require(factor == 0 || !by_weight || op.has(1), "needs weights to drop the smallest");
  const bool padded = op.attributes().boolean("padded");
  op.require(!padded || factor > 0, "only a capacity can be padded to");
  const std::int64_t choices = op.in(0).elements();
  const std::int64_t rows = padded ? experts * expert_capacity(choices, experts, factor) : choices;
  return {{Shape{rows}, DType::kI32},
          {op.in(0), DType::kI32},
          {Shape{experts}, DType::kI32},
          {Shape{2, experts}, DType::kF32}};
}

std::vector<OutputSpec> infer_permute(const OpView& op) {
  using namespace permute_tokens_input;
  const Shape& x = op.in(kRows);
  op.require(integers_of(op, kSources) && integers_of(op, kSlots), "places must be i32");
  const std::int64_t copies = op.in(kSlots)[-1];
  op.require(x.elements(0, x.rank() - 1) * copies == op.in(kSlots).elements(),
             "there must be slots for every token");
  return {{Shape{op.in(kSources)[0], x[-1]}, op.input(kRows).dtype}};
}

std::vector<OutputSpec> infer_unpermute(const OpView& op) {
  using namespace permute_tokens_input;
  op.require(integers_of(op, kSources) && integers_of(op, kSlots), "places must be i32");
  op.require(op.in(kRows).rank() == 2 && op.in(kSources) == Shape{op.in(kRows)[0]},
             "rows must be [R, W] with a source for each");
  const Shape& slots = op.in(kSlots);
  return {{slots.slice(0, slots.rank() - 1).append(op.in(kRows)[1]), op.input(kRows).dtype}};
}

Bytes bytes_of_rows(const OpView& op, const Tensor& tensor) {
  return Bytes{size_of(tensor.dtype)} * (op.attributes().integer("rows_in_use") * tensor.shape[-1]);
}

// Every row in use is read and written once; rows behind them are filled with zeros by engines, but a bound that is
// far away is not what a step costs.
void cost_permute(const OpView& op, const CostContext&, OpCost& cost) {
  using namespace permute_tokens_input;
  cost.read = op.input(kSources).size() + bytes_of_rows(op, op.input(kRows));
  cost.written = bytes_of_rows(op, op.output(0));
}

void cost_unpermute(const OpView& op, const CostContext&, OpCost& cost) {
  using namespace permute_tokens_input;
  cost.read = op.input(kSlots).size() + bytes_of_rows(op, op.input(kRows));
  cost.vector += Flops{op.attributes().integer("rows_in_use")} * op.in(kRows)[1];
}

Saved saves_places(const OpView&) {
  return {.inputs = bit(permute_tokens_input::kSources) | bit(permute_tokens_input::kSlots)};
}

// Each is the other's gradient.
template <OpKind kOther>
void gradient(GradientRule& rule) {
  using namespace permute_tokens_input;
  const TensorId d = rule.step({.kind = kOther,
                                .inputs = {rule.gradient(0), rule.input(kSources), rule.input(kSlots)},
                                .attributes = rule.attributes()});
  const Shape wanted = rule.input_shape(kRows);
  if (rule.op().graph.tensor(d).shape == wanted) {
    rule.pass(kRows, d);
    return;
  }
  // The same rows along other axes than x has.
  rule.pass(
      kRows,
      rule.step({.kind = OpKind::kReshape,
                 .inputs = {d},
                 .attributes = {{"shape", Integers(wanted.extents().begin(), wanted.extents().end())}}}));
}

std::vector<OutputSpec> infer_received(const OpView& op) {
  const Shape& counts = op.in(0);
  const std::int64_t rows = op.attributes().integer("rows");
  op.require(integers_of(op, 0) && counts.rank() == 2 && counts[1] % counts[0] == 0,
             "counts must be i32 [ranks, experts], with as many experts on every rank");
  op.require(integers_of(op, 1) && op.in(1) == Shape{1}, "the place must be i32 [1]");
  op.require(rows >= 1, "there must be room for a row");
  return {{Shape{counts[0]}, DType::kI32},
          {Shape{counts[0]}, DType::kI32},
          {Shape{rows}, DType::kI32},
          {Shape{rows, 1}, DType::kI32},
          {Shape{counts[1] / counts[0]}, DType::kI32}};
}

std::vector<OutputSpec> infer_exchange(const OpView& op) {
  using namespace exchange_rows_input;
  const Shape sizes{op.attributes().integer("group_size")};
  op.require(op.in(kRows).rank() == 2, "rows must be [R, W]");
  op.require(integers_of(op, kSent) && integers_of(op, kReceived) && op.in(kSent) == sizes &&
                 op.in(kReceived) == sizes,
             "needs numbers of rows, i32, for every member");
  op.require(op.attributes().integer("rows") >= 1, "there must be room for a row");
  return {{Shape{op.attributes().integer("rows"), op.in(kRows)[1]}, op.input(kRows).dtype}};
}

void cost_exchange(const OpView& op, const CostContext&, OpCost& cost) {
  cost.sent = bytes_of_rows(op, op.input(exchange_rows_input::kRows));
  cost.read = cost.written = cost.sent;
}

void exchange_gradient(GradientRule& rule) {
  using namespace exchange_rows_input;
  Attributes back = rule.attributes();
  back.set("rows", rule.input_shape(kRows)[0]);
  rule.emit({.kind = OpKind::kExchangeRows,
             .inputs = {rule.gradient(0), rule.input(kReceived), rule.input(kSent)},
             .attributes = back},
            {kRows});
}

}  // namespace

std::string_view to_string(DropPolicy policy) {
  switch (policy) {
    case DropPolicy::kProbs:
      return "probs";
    case DropPolicy::kPosition:
      return "position";
  }
  unreachable();
}

DropPolicy drop_policy_named(std::string_view name) {
  for (const DropPolicy policy : {DropPolicy::kProbs, DropPolicy::kPosition})
    if (to_string(policy) == name) return policy;
  throw input_error({}, format("unknown policy '{}' for dropped tokens", name), "known: probs, position");
}

std::int64_t expert_capacity(std::int64_t choices, std::int64_t experts, double factor) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(choices) / static_cast<double>(experts) * factor));
}

PlacedTokens place_tokens(GraphBuilder& builder, const PlaceTokensArgs& args) {
  using namespace place_tokens_output;
  const std::vector<TensorId> made =
      builder.add({.kind = OpKind::kPlaceTokens,
                   .inputs = {args.experts, args.weights},
                   .attributes = {{"experts", args.expert_count},
                                  {"capacity_factor", args.capacity_factor},
                                  {"padded", args.padded},
                                  {"policy", std::string(to_string(args.policy))}}});
  return {.sources = made[kSources],
          .slots = made[kSlots],
          .counts = made[kCounts],
          .load = made[kLoad],
          .rows_in_use = builder.shape(made[kSources])[0]};
}

TensorId permute_tokens(GraphBuilder& builder, TensorId x, const PlacedTokens& placed) {
  return builder.add_one({.kind = OpKind::kPermuteTokens,
                          .inputs = {x, placed.sources, placed.slots},
                          .attributes = {{"rows_in_use", placed.rows_in_use}}});
}

TensorId unpermute_tokens(GraphBuilder& builder, TensorId rows, const PlacedTokens& placed) {
  return builder.add_one({.kind = OpKind::kUnpermuteTokens,
                          .inputs = {rows, placed.sources, placed.slots},
                          .attributes = {{"rows_in_use", placed.rows_in_use}}});
}

TensorId permute_weights(GraphBuilder& builder, TensorId weights, const PlacedTokens& placed) {
  const Shape single{builder.shape(weights).elements(), 1};
  PlacedTokens of_choices = placed;
  of_choices.slots = reshape(builder, placed.slots, single);
  return permute_tokens(builder, reshape(builder, weights, single), of_choices);
}

PlacedRows place_received(GraphBuilder& builder, const PlaceReceivedArgs& args) {
  using namespace place_received_output;
  const std::vector<TensorId> made = builder.add({.kind = OpKind::kPlaceReceived,
                                                  .inputs = {args.counts, args.place},
                                                  .attributes = {{"rows", args.rows}}});
  return {.sent = made[kSent],
          .received = made[kReceived],
          .placed = {.sources = made[kSources],
                     .slots = made[kSlots],
                     .counts = made[kCounts],
                     .load = kNoTensor,
                     .rows_in_use = args.rows_in_use}};
}

TensorId exchange_rows(GraphBuilder& builder, const ExchangeRowsArgs& args) {
  return builder.add_one({.kind = OpKind::kExchangeRows,
                          .inputs = {args.x, args.sent, args.received},
                          .attributes = {{"group", args.group.group},
                                         {"group_size", args.group.size},
                                         {"rows", args.rows},
                                         {"rows_in_use", args.rows_in_use}}});
}

OpDefinition place_tokens_definition() {
  return {.kind = OpKind::kPlaceTokens,
          .name = "place_tokens",
          .work = WorkKind::kIndexing,
          .attributes = {{"experts", std::int64_t{1}},
                         {"capacity_factor", 0.0},
                         {"padded", false},
                         {"policy", std::string(to_string(DropPolicy::kProbs))}},
          .inputs = {"experts", "weights?"},
          .infer = infer_place,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()} * kPlaceFlops;
          }};
}

OpDefinition permute_tokens_definition() {
  return {.kind = OpKind::kPermuteTokens,
          .name = "permute_tokens",
          .work = WorkKind::kIndexing,
          .attributes = {{"rows_in_use", std::int64_t{0}}},
          .inputs = {"x", "sources", "slots"},
          .infer = infer_permute,
          .cost = cost_permute,
          .saves = saves_places,
          .gradient = gradient<OpKind::kUnpermuteTokens>};
}

OpDefinition unpermute_tokens_definition() {
  return {.kind = OpKind::kUnpermuteTokens,
          .name = "unpermute_tokens",
          .work = WorkKind::kIndexing,
          .attributes = {{"rows_in_use", std::int64_t{0}}},
          .inputs = {"rows", "sources", "slots"},
          .infer = infer_unpermute,
          .cost = cost_unpermute,
          .saves = saves_places,
          .gradient = gradient<OpKind::kPermuteTokens>};
}

OpDefinition place_received_definition() {
  return {.kind = OpKind::kPlaceReceived,
          .name = "place_received",
          .work = WorkKind::kIndexing,
          .attributes = {{"rows", std::int64_t{1}}},
          .inputs = {"counts", "place"},
          .infer = infer_received,
          .cost = [](const OpView& op, const CostContext&, OpCost& cost) {
            cost.vector += Flops{op.in(0).elements()} * kPlaceFlops;
          }};
}

OpDefinition exchange_rows_definition() {
  return {.kind = OpKind::kExchangeRows,
          .name = "exchange_rows",
          .op_class = OpClass::kCollective,
          .attributes = {{"group", std::string()},
                         {"group_size", std::int64_t{1}},
                         {"rows", std::int64_t{1}},
                         {"rows_in_use", std::int64_t{0}}},
          .inputs = {"rows", "sent", "received"},
          .infer = infer_exchange,
          .cost = cost_exchange,
          .saves =
              [](const OpView&) {
                return Saved{.inputs = bit(exchange_rows_input::kSent) | bit(exchange_rows_input::kReceived)};
              },
          .gradient = exchange_gradient};
}

}  // namespace nadi::inline describe
