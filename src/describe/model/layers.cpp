#include "nadi/model/layers.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/graph/ops.h"

namespace nadi::inline describe {

std::string_view to_string(ForwardMode mode) {
  switch (mode) {
    case ForwardMode::kTrain:
      return "train";
    case ForwardMode::kEvaluate:
      return "evaluate";
    case ForwardMode::kPrefill:
      return "prefill";
    case ForwardMode::kDecode:
      return "decode";
  }
  unreachable();
}

Layers::Layers(GraphBuilder& builder, const ModelConfig& config, const ForwardOptions& options)
    : builder_(builder), config_(config), options_(options) {}

TensorId Layers::input(const std::string& name, const Shape& shape, DType dtype) {
  if (const auto found = builder_.graph().find_tensor(name)) return *found;
  return builder_.input(name, shape, dtype);
}

// The token that the last step chose and the next one reads.
TensorId Layers::next_token() {
  if (const auto found = builder_.graph().find_tensor("next_token")) return *found;
  return builder_.variable({.name = "next_token",
                            .shape = Shape{options_.batch_size, 1},
                            .dtype = DType::kI32,
                            .role = Role::kMetric});
}

// Where that token stands in its sequence.
TensorId Layers::next_position() {
  if (const auto found = builder_.graph().find_tensor("positions")) return *found;
  return builder_.variable({.name = "positions",
                            .shape = Shape{options_.batch_size},
                            .dtype = DType::kI32,
                            .role = Role::kCounter});
}

TensorId Layers::token_ids() {
  if (options_.mode == ForwardMode::kDecode) return next_token();
  return input("input_ids", Shape{options_.batch_size, options_.seq_length}, DType::kI32);
}

TensorId Layers::token_type_ids() {
  return input("token_type_ids", Shape{options_.batch_size, options_.seq_length}, DType::kI32);
}

TensorId Layers::positions() {
  if (options_.mode != ForwardMode::kDecode) return kNoTensor;
  return next_position();
}

TensorId Layers::constant(const std::string& name, const Shape& shape, Initializer value,
                          std::vector<Shard> shards) {
  if (const auto found = builder_.graph().find_tensor(name)) return *found;
  return builder_.constant(name, shape, DType::kI32, value, std::move(shards));
}

TensorId Layers::position_ids() {
  if (options_.mode == ForwardMode::kDecode)
    return reshape(builder_, positions(), Shape{options_.batch_size, 1});
  return constant("position_ids", Shape{options_.seq_length}, Initializer::iota());
}

TensorId Layers::lengths() {
  return input("lengths", Shape{options_.batch_size}, DType::kI32);
}

TensorId Layers::parameter_named(const std::string& full_name, const Shape& shape, Initializer initializer,
                                 std::vector<Shard> shards) {
  if (const auto found = builder_.graph().find_tensor(full_name)) return *found;
  return builder_.parameter(full_name, shape, options_.dtype, initializer, std::move(shards));
}

TensorId Layers::parameter(const std::string& name, const Shape& shape, Initializer initializer,
                           std::vector<Shard> shards) {
  return parameter_named(builder_.layer() + "." + name, shape, initializer, std::move(shards));
}

TensorId Layers::word_embedding(const std::string& name) {
  const auto scope = builder_.in_layer(name);
  const TensorId table = parameter("weight", Shape{config_.vocabulary, config_.width},
                                   Initializer::normal(config_.initializer_range));
  return embedding(builder_, token_ids(), table);
}

TensorId Layers::position_embedding(const std::string& name) {
  const auto scope = builder_.in_layer(name);
  const TensorId table = parameter("weight", Shape{config_.positions, config_.width},
                                   Initializer::normal(config_.initializer_range));
  return embedding(builder_, position_ids(), table);
}

TensorId Layers::token_type_embedding(const std::string& name) {
  const auto scope = builder_.in_layer(name);
  const TensorId table = parameter("weight", Shape{config_.token_types, config_.width},
                                   Initializer::normal(config_.initializer_range));
  return embedding(builder_, token_type_ids(), table);
}

TensorId Layers::product(MatmulArgs args) {
  args.save_pre_activation = training();
  if (options_.fp8) {
    const QuantizedTensor a = quantize_fp8(builder_, args.a, DType::kF8E4M3);
    const QuantizedTensor b = quantize_fp8(builder_, args.b, DType::kF8E4M3);
    args.a = a.values;
    args.a_scale = a.scale;
    args.b = b.values;
    args.b_scale = b.scale;
  }
  return matmul(builder_, args);
}

TensorId Layers::linear(TensorId x, const LinearSpec& spec) {
  const auto scope = builder_.in_layer(spec.name);
  const std::int64_t inputs = builder_.shape(x)[-1];
  const double deviation = spec.deviation > 0 ? spec.deviation : config_.initializer_range;
  const Shape shape = spec.weight_is_out_in ? Shape{spec.outputs, inputs} : Shape{inputs, spec.outputs};
  const TensorId weight = parameter("weight", shape, Initializer::normal(deviation));
  const TensorId bias =
      spec.bias ? parameter("bias", Shape{spec.outputs}, Initializer::constant(0)) : kNoTensor;
  return product({.a = x,
                  .b = weight,
                  .bias = bias,
                  .transpose_b = spec.weight_is_out_in,
                  .activation = spec.activation});
}

TensorId Layers::cache(const std::string& name) {
  return builder_.variable(
      {.name = builder_.layer() + "." + name,
       .shape = Shape{options_.batch_size, options_.cache_length, kv_heads() * config_.head_width},
       .dtype = options_.dtype,
       .role = Role::kCache});
}

TensorId Layers::attention(const AttentionSpec& spec) {
  AttentionArgs args{.q = spec.q,
                     .k = spec.k,
                     .v = spec.v,
                     .heads = heads(),
                     .kv_heads = kv_heads(),
                     .causal = spec.causal,
                     .lengths = spec.lengths,
                     .dropout = training() ? config_.attention_dropout : 0,
                     .training = training()};
  if (args.dropout > 0) args.random = random_input(builder_);

  const bool packed = spec.k == kNoTensor;
  if (packed && (with_cache() || !options_.fused_attention || separates_heads())) {
    const std::int64_t q_width = heads() * config_.head_width;
    const std::int64_t kv_width = kv_heads() * config_.head_width;
    const std::vector<TensorId> parts = split(builder_, spec.q, 2, std::array{q_width, kv_width, kv_width});
    args.k = parts[1];
    args.v = parts[2];
    // Prefill attends to the new tokens only and can stay packed.
    if (options_.mode != ForwardMode::kPrefill || !options_.fused_attention) args.q = parts[0];
  }
  if (with_cache()) {
    const TensorId keys = cache("k_cache");
    const TensorId values = cache("v_cache");
    cache_write(builder_, {.cache = keys, .rows = args.k, .positions = positions()});
    cache_write(builder_, {.cache = values, .rows = args.v, .positions = positions()});
    if (options_.mode == ForwardMode::kDecode) {
      args.k = keys;
      args.v = values;
      args.positions = positions();
    } else if (packed && options_.fused_attention) {
      args.k = args.v = kNoTensor;
    }
  }
  complete(args);
  // One query against a cache has no [T, T] to keep or to recompute: fused is all there is.
  if (options_.fused_attention || options_.mode == ForwardMode::kDecode)
    return fused_attention(builder_, args);
  return unfused_attention(builder_, args);
}

TensorId Layers::layer_norm(TensorId x, const std::string& name) {
  const auto scope = builder_.in_layer(name);
  const Shape shape{builder_.shape(x)[-1]};
  return nadi::layer_norm(builder_, {.x = x,
                                     .weight = parameter("weight", shape, Initializer::constant(1)),
                                     .bias = parameter("bias", shape, Initializer::constant(0)),
                                     .epsilon = config_.norm_epsilon});
}

TensorId Layers::rms_norm(TensorId x, const std::string& name) {
  const auto scope = builder_.in_layer(name);
  const Shape shape{builder_.shape(x)[-1]};
  return nadi::rms_norm(builder_, {.x = x,
                                   .weight = parameter("weight", shape, Initializer::constant(1)),
                                   .epsilon = config_.norm_epsilon});
}

TensorId Layers::head_norm(TensorId x, const std::string& name) {
  const auto scope = builder_.in_layer(name);
  const Shape whole = builder_.shape(x);
  const std::int64_t width = config_.head_width;
  const TensorId heads = reshape(builder_, x, {whole[0], whole[1], whole[2] / width, width});
  const TensorId weight = for_own_heads(parameter("weight", Shape{width}, Initializer::constant(1)));
  if (config_.architecture->norm == NormKind::kRms)
    return reshape(builder_,
                   nadi::rms_norm(builder_, {.x = heads, .weight = weight, .epsilon = config_.norm_epsilon}),
                   whole);
  const TensorId bias = for_own_heads(parameter("bias", Shape{width}, Initializer::constant(0)));
  return reshape(builder_,
                 nadi::layer_norm(
                     builder_, {.x = heads, .weight = weight, .bias = bias, .epsilon = config_.norm_epsilon}),
                 whole);
}

TensorId Layers::rotary(TensorId x) {
  return nadi::rotary(builder_, {.x = x,
                                 .positions = positions(),
                                 .token_positions = token_positions(),
                                 .heads = builder_.shape(x)[-1] / config_.head_width,
                                 .frequencies = config_.rotary});
}

TensorId Layers::dropout(TensorId x, double rate, const std::string& name) {
  if (!training() || rate == 0) return x;
  const auto scope = builder_.in_layer(name);
  return nadi::dropout(builder_, {.x = x, .random = random_input(builder_), .rate = rate});
}

TensorId Layers::add(TensorId a, TensorId b) {
  return nadi::add(builder_, a, b);
}

TensorId Layers::last_states(TensorId x) {
  if (options_.mode != ForwardMode::kPrefill) return x;
  return select_last_rows(builder_, x, lengths());
}

void Layers::head(TensorId x, const HeadSpec& spec) {
  const TensorId weight = parameter_named(spec.weight, Shape{config_.vocabulary, config_.width},
                                          Initializer::normal(config_.initializer_range));
  const TensorId bias = spec.bias.empty()
                            ? kNoTensor
                            : parameter_named(spec.bias, Shape{config_.vocabulary}, Initializer::constant(0));
  // Never in fp8: the softmax over the vocabulary needs the precision.
  finish(matmul(builder_, {.a = x, .b = weight, .bias = bias, .transpose_b = true}));
}

void Layers::finish(TensorId logits) {
  if (with_cache()) {
    const TensorId whole = whole_logits(logits);
    const std::int64_t tokens =
        options_.token_limit > 0 ? std::min(options_.token_limit, config_.vocabulary) : config_.vocabulary;
    if (options_.sampling)
      sample(builder_, {.logits = whole,
                        .sampling = input("sampling", Shape{3}, DType::kF32),
                        .random = random_input(builder_),
                        .vocabulary = tokens,
                        .into = next_token()});
    else
      argmax(builder_, {.logits = whole, .vocabulary = tokens, .into = next_token()});
    move_on();
    return;
  }
  if (options_.keeps_logits) keep(of_all_tokens(whole_logits(logits)));
  if (pooled_tokens_ > 0) pooled_balance_loss();
  loss_ = builder_.variable({.name = "loss", .role = Role::kMetric});
  loss_of(logits, input("targets", Shape{options_.batch_size, options_.seq_length}, DType::kI32),
          input("token_count", Shape{}, DType::kF32));
}

void Layers::keep(TensorId logits) {
  const auto scope = builder_.in_layer("logits");
  const Tensor& values = builder_.tensor(logits);
  const TensorId kept = builder_.variable(
      {.name = "logits", .shape = values.shape, .dtype = values.dtype, .role = Role::kMetric});
  builder_.add({.kind = OpKind::kCopy, .inputs = {logits}, .into = {{kept}}});
}

// The prefill puts the next token behind the prompt; a decode step puts it one further.
void Layers::move_on() {
  const auto scope = builder_.in_layer("positions");
  if (options_.mode == ForwardMode::kPrefill)
    builder_.add({.kind = OpKind::kCopy, .inputs = {lengths()}, .into = {{next_position()}}});
  else
    advance(builder_, next_position(), 1);
}

void Layers::loss_of(TensorId logits, TensorId targets, TensorId count) {
  cross_entropy(builder_, {.logits = logits,
                           .targets = targets,
                           .count = count,
                           .vocabulary = config_.vocabulary,
                           .into = {loss_, accumulate_loss_}});
}

}  // namespace nadi::inline describe
