#include "nadi/parallel/parallel_layers.h"

#include <algorithm>

#include "nadi/base/round_up.h"
#include "nadi/graph/ops.h"
#include "nadi/graph/ops/gather_again.h"
#include "nadi/parallel/expert_load.h"
#include "nadi/parallel/expert_room.h"

namespace nadi::inline describe {
namespace {

const std::string kTensorGroup{"tp"};
const std::string kContextGroup{"cp"};
const std::string kExpertGroup{"ep"};
const std::string kExpertTensorGroup{"etp"};
constexpr int kTokenAxis = 1;  // of [B, T, C]

}  // namespace

ParallelLayers::ParallelLayers(GraphBuilder& builder, const ModelConfig& config,
                               const ForwardOptions& options, const Plan& plan, std::int64_t whole_tokens)
    : Layers(builder, config, options), plan_(plan), whole_tokens_(whole_tokens) {}

Shape ParallelLayers::stream_shape() const {
  const std::int64_t tokens = plan_.sequence_parallel ? options_.seq_length / plan_.tp : options_.seq_length;
  return {options_.batch_size, tokens, config_.width};
}

std::vector<Shard> ParallelLayers::tensor_shard(int axis, std::vector<std::int64_t> segments) const {
  if (!tensor_parallel()) return {};
  return {{.group = kTensorGroup, .parts = plan_.tp, .axis = axis, .segments = std::move(segments)}};
}

std::vector<Shard> ParallelLayers::context_shard() const {
  if (plan_.cp == 1) return {};
  return {zigzag_shard(kContextGroup, plan_.cp, 0, whole_tokens_)};
}

TensorId ParallelLayers::place() {
  return constant("tp_place", Shape{1}, Initializer::iota(), tensor_shard(0));
}

// Positions of the residual stream's tokens.
TensorId ParallelLayers::position_ids() {
  if (options_.mode == ForwardMode::kDecode) return Layers::position_ids();
  std::vector<Shard> shards = context_shard();
  if (plan_.sequence_parallel)
    for (Shard& shard : tensor_shard(0)) shards.push_back(std::move(shard));
  return constant("position_ids", Shape{stream_shape()[kTokenAxis]}, Initializer::iota(), std::move(shards));
}

// Positions of the tokens inside of attention, where a sequence-parallel stream has been gathered.
TensorId ParallelLayers::token_positions() {
  if (plan_.cp == 1) return kNoTensor;
  return constant("context_positions", Shape{options_.seq_length}, Initializer::iota(), context_shard());
}

TensorId ParallelLayers::token_type_ids() {
  const TensorId all = Layers::token_type_ids();
  if (!plan_.sequence_parallel) return all;
  const TensorId own =
      constant("stream_tokens", Shape{options_.seq_length / plan_.tp}, Initializer::iota(), tensor_shard(0));
  return take_tokens(builder_, all, own);
}

TensorId ParallelLayers::enter(TensorId x) {
  if (!tensor_parallel()) return x;
  const auto known = entered_.find(x);
  if (known != entered_.end()) return known->second;
  const GroupArgs group{kTensorGroup, plan_.tp};
  const TensorId inside = plan_.sequence_parallel ? all_gather_again(builder_, x, group, kTokenAxis)
                                                  : copy_to_group(builder_, x, group);
  entered_.emplace(x, inside);
  return inside;
}

TensorId ParallelLayers::leave(TensorId partial) {
  if (!tensor_parallel()) return partial;
  const GroupArgs group{kTensorGroup, plan_.tp};
  if (plan_.sequence_parallel) return reduce_scatter(builder_, partial, group, kTokenAxis);
  return all_reduce(builder_, {.x = partial, .group = group, .replicated = true});
}

std::int64_t ParallelLayers::padded_vocabulary() const {
  return rounded_up(config_.vocabulary, plan_.tp);
}

TensorId ParallelLayers::word_embedding(const std::string& name) {
  if (!tensor_parallel()) return Layers::word_embedding(name);
  const auto scope = builder_.in_layer(name);
  const TensorId table = parameter("weight", Shape{padded_vocabulary() / plan_.tp, config_.width},
                                   Initializer::normal(config_.initializer_range), tensor_shard(0));
  return leave(embedding(builder_, token_ids(), table, place()));
}

TensorId ParallelLayers::linear(TensorId x, const LinearSpec& spec) {
  if (!tensor_parallel() || spec.split == Split::kNone) return Layers::linear(x, spec);
  const auto scope = builder_.in_layer(spec.name);
  const bool columns = spec.split == Split::kColumns;
  if (columns) x = enter(x);
  const std::int64_t inputs = builder_.shape(x)[-1];
  const std::int64_t outputs = columns ? spec.outputs / plan_.tp : spec.outputs;
  const double deviation = spec.deviation > 0 ? spec.deviation : config_.initializer_range;
  // The axis that is split: that of the outputs for columns, of the inputs for rows.
  const int axis = columns == spec.weight_is_out_in ? 0 : 1;
  const TensorId weight =
      parameter("weight", spec.weight_is_out_in ? Shape{outputs, inputs} : Shape{inputs, outputs},
                Initializer::normal(deviation), tensor_shard(axis, spec.segments));
  TensorId bias = kNoTensor;
  if (spec.bias)
    bias = parameter("bias", Shape{outputs}, Initializer::constant(0),
                     columns ? tensor_shard(0, spec.segments) : std::vector<Shard>{});
  const TensorId y = product({.a = x,
                              .b = weight,
                              .bias = columns ? bias : kNoTensor,
                              .transpose_b = spec.weight_is_out_in,
                              .activation = spec.activation});
  if (columns) return y;
  const TensorId whole = leave(y);
  // Once, not by every rank.
  return bias == kNoTensor ? whole : add(whole, bias);
}

// Where sequences are split, the gradients of all parameters that every rank has are added up with others
// (gradient_reduction.h).
TensorId ParallelLayers::for_own_heads(TensorId weight) {
  if (!tensor_parallel() || plan_.sequence_parallel) return weight;
  return copy_to_group(builder_, weight, {kTensorGroup, plan_.tp});
}

TensorId ParallelLayers::of_all_tokens(TensorId values) {
  if (plan_.cp == 1) return values;
  return all_gather(builder_, values, {kContextGroup, plan_.cp}, kTokenAxis);
}

void ParallelLayers::complete(AttentionArgs& args) {
  if (tensor_parallel() && args.dropout > 0) {
    args.head_ids = constant("head_ids", Shape{heads()}, Initializer::iota(), tensor_shard(0));
    args.whole_heads = config_.heads;
  }
  if (plan_.cp == 1) return;
  const GroupArgs group{kContextGroup, plan_.cp};
  args.k = all_gather(builder_, args.k, group, kTokenAxis);
  args.v = all_gather(builder_, args.v, group, kTokenAxis);
  args.query_positions = token_positions();
  args.key_positions = constant("key_positions", Shape{whole_tokens_}, Initializer::zigzag(plan_.cp));
  // A rank has two of 2 cp pieces of h tokens, the i-th from the front and the i-th from the back. Together
  // their queries see h * h * (2 cp - 1) keys of earlier pieces and h (h + 1) / 2 each of their own.
  const std::int64_t h = whole_tokens_ / (2 * plan_.cp);
  args.causal_pairs = h * h * (2 * plan_.cp - 1) + h * (h + 1);
}

TensorId ParallelLayers::dropout(TensorId x, double rate, const std::string& name) {
  if (plan_.cp == 1 && !plan_.sequence_parallel) return Layers::dropout(x, rate, name);
  if (!training() || rate == 0) return x;
  const auto scope = builder_.in_layer(name);
  return nadi::dropout(builder_, {.x = x,
                                  .random = random_input(builder_),
                                  .rate = rate,
                                  .rows = position_ids(),
                                  .whole_rows = whole_tokens_});
}

void ParallelLayers::head(TensorId x, const HeadSpec& spec) {
  if (!tensor_parallel()) return Layers::head(x, spec);
  const std::int64_t rows = padded_vocabulary() / plan_.tp;
  const TensorId weight = parameter_named(spec.weight, Shape{rows, config_.width},
                                          Initializer::normal(config_.initializer_range), tensor_shard(0));
  const TensorId bias =
      spec.bias.empty() ? kNoTensor
                        : parameter_named(spec.bias, Shape{rows}, Initializer::constant(0), tensor_shard(0));
  finish(matmul(builder_, {.a = enter(x), .b = weight, .bias = bias, .transpose_b = true}));
}

void ParallelLayers::loss_of(TensorId logits, TensorId targets, TensorId count) {
  if (!tensor_parallel()) return Layers::loss_of(logits, targets, count);
  sharded_cross_entropy(builder_, {.whole = {.logits = logits,
                                             .targets = targets,
                                             .count = count,
                                             .vocabulary = config_.vocabulary,
                                             .into = {loss_, accumulate_loss_}},
                                   .place = place(),
                                   .group = kTensorGroup,
                                   .group_size = plan_.tp});
}

// Ranks that share each expert need the same tokens: those of all of them. Routes are those of the rank that has the
// token: gathered with it, or the same on all ranks.
Layers::RoutedTokens ParallelLayers::to_experts(const RoutedTokens& tokens) {
  const std::int64_t sharing = plan_.expert_tp();
  if (sharing == 1) return tokens;
  const Routes& routes = tokens.routes;
  const bool as_others = !plan_.numbers_experts();
  if (as_others && !plan_.sequence_parallel) {
    const GroupArgs group{kTensorGroup, plan_.tp};
    return {.x = enter(tokens.x),
            .routes = {.experts = routes.experts, .weights = copy_to_group(builder_, routes.weights, group)}};
  }
  const GroupArgs group{as_others ? kTensorGroup : kExpertTensorGroup, sharing};
  return {.x = as_others ? enter(tokens.x) : all_gather_again(builder_, tokens.x, group, kTokenAxis),
          .routes = {.experts = all_gather(builder_, routes.experts, group, kTokenAxis),
                     .weights = all_gather(builder_, routes.weights, group, kTokenAxis)}};
}

TensorId ParallelLayers::from_experts(TensorId y) {
  if (!plan_.numbers_experts()) return leave(y);
  if (plan_.expert_tp() == 1) return y;
  return reduce_scatter(builder_, y, {kExpertTensorGroup, plan_.expert_tp()}, kTokenAxis);
}

// The counts go first, so that all know how many rows come from whom; then rows and weights, which are sorted by expert
// again.
Layers::ExpertRows ParallelLayers::dispatch(const ExpertRows& own) {
  if (plan_.ep == 1) return own;
  const GroupArgs group{kExpertGroup, plan_.ep};
  const TensorId counts =
      reshape(builder_, all_gather(builder_, own.placed.counts, group, 0), Shape{plan_.ep, config_.experts});
  const TensorId own_place = constant("ep_place", Shape{1}, Initializer::iota(),
                                      {{.group = kExpertGroup, .parts = plan_.ep, .axis = 0}});
  const std::int64_t choices = builder_.shape(own.placed.slots).elements();
  const std::int64_t room =
      rows_room(config_, plan_, options_.experts, {.sequences = options_.batch_size, .choices = choices});
  const auto expected = static_cast<std::int64_t>(static_cast<double>(own.placed.rows_in_use) *
                                                  busiest_rank(config_, plan_, options_.experts.load));
  ExpertRows here;
  here.received = place_received(
      builder_,
      {.counts = counts, .place = own_place, .rows = room, .rows_in_use = std::min(room, expected)});
  here.placed = here.received.placed;
  const auto received = [&](TensorId rows) {
    const TensorId arrived = exchange_rows(builder_, {.x = rows,
                                                      .sent = here.received.sent,
                                                      .received = here.received.received,
                                                      .rows = room,
                                                      .rows_in_use = own.placed.rows_in_use,
                                                      .group = group});
    return permute_tokens(builder_, arrived, here.placed);
  };
  here.rows = received(own.rows);
  here.weights = received(own.weights);
  return here;
}

TensorId ParallelLayers::combine(TensorId made, const ExpertRows& own, const ExpertRows& dispatched) {
  if (plan_.ep == 1) return made;
  const TensorId as_arrived = unpermute_tokens(builder_, made, dispatched.placed);
  return exchange_rows(builder_, {.x = as_arrived,
                                  .sent = dispatched.received.received,
                                  .received = dispatched.received.sent,
                                  .rows = builder_.shape(own.rows)[0],
                                  .rows_in_use = dispatched.placed.rows_in_use,
                                  .group = {kExpertGroup, plan_.ep}});
}

TensorId ParallelLayers::expert_weights(const std::string& name, const Shape& whole, int axis,
                                        double deviation) {
  const std::int64_t sharing = plan_.expert_tp();
  if (sharing == 1 && plan_.ep == 1) return Layers::expert_weights(name, whole, axis, deviation);
  const auto scope = builder_.in_layer(name);
  Shape own = whole;
  std::vector<Shard> shards;
  if (plan_.ep > 1) shards.push_back({.group = kExpertGroup, .parts = plan_.ep, .axis = 0});
  if (sharing > 1)
    shards.push_back({.group = plan_.numbers_experts() ? kExpertTensorGroup : kTensorGroup,
                      .parts = sharing,
                      .axis = axis});
  for (const Shard& shard : shards) own.set(shard.axis, own[shard.axis] / shard.parts);
  return parameter("weight", own, Initializer::normal(deviation > 0 ? deviation : config_.initializer_range),
                   std::move(shards));
}

std::int64_t ParallelLayers::balanced_ranks() const {
  return (plan_.sequence_parallel ? plan_.tp : 1) * plan_.cp;
}

TensorId ParallelLayers::of_balanced_tokens(TensorId counts) {
  if (plan_.sequence_parallel)
    counts = all_reduce(builder_, {.x = counts, .group = {kTensorGroup, plan_.tp}});
  if (plan_.cp > 1) counts = all_reduce(builder_, {.x = counts, .group = {kContextGroup, plan_.cp}});
  return counts;
}

TensorId ParallelLayers::whole_logits(TensorId logits) {
  if (!tensor_parallel()) return logits;
  return all_gather(builder_, logits, {kTensorGroup, plan_.tp}, builder_.shape(logits).rank() - 1);
}

}  // namespace nadi::inline describe
