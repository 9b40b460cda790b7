#include "nadi/model/model.h"

#include <cmath>

#include "nadi/graph/ops/swiglu.h"

namespace nadi::inline describe {
namespace {

// What `make` builds within a scope, which may be the one there is.
template <class Make>
TensorId within(Layers& layers, const std::string& scope, Make&& make) {
  if (scope.empty()) return make();
  const auto inner = layers.builder().in_layer(scope);
  return make();
}

}  // namespace

TensorId Model::norm(Layers& layers, TensorId x, const std::string& name) const {
  if (name.empty()) return x;
  return architecture_->norm == NormKind::kRms ? layers.rms_norm(x, name) : layers.layer_norm(x, name);
}

TensorId Model::embed(Layers& layers) const {
  const ArchitectureDescription::Embedding& names = architecture_->embedding;
  const auto scope = layers.builder().in_layer(names.scope);
  TensorId x = layers.word_embedding(names.words);
  if (!names.token_types.empty()) x = layers.add(x, layers.token_type_embedding(names.token_types));
  if (!names.positions.empty()) x = layers.add(x, layers.position_embedding(names.positions));
  x = norm(layers, x, names.norm);
  return names.dropout.empty() ? x : layers.dropout(x, layers.config().embedding_dropout, names.dropout);
}

// Queries, keys and values of the normed stream, and what attention makes of them.
TensorId Model::attend(Layers& layers, const BlockPart& part, TensorId x) const {
  const ModelConfig& config = layers.config();
  const auto linear = [&](const std::string& name, std::int64_t outputs,
                          std::vector<std::int64_t> segments = {}) {
    return layers.linear(x, {.name = name,
                             .outputs = outputs,
                             .bias = config.attention_bias,
                             .weight_is_out_in = !architecture_->weights_in_out,
                             .split = Split::kColumns,
                             .segments = std::move(segments)});
  };
  const std::int64_t q_width = config.heads * config.head_width;
  const std::int64_t kv_width = config.kv_heads * config.head_width;
  AttentionSpec spec{.causal = !architecture_->masked()};
  if (!part.packed.empty()) {
    spec.q = linear(part.packed, q_width + 2 * kv_width, {q_width, kv_width, kv_width});
  } else {
    const auto placed = [&](TensorId heads, const std::string& head_norm) {
      if (!head_norm.empty()) heads = layers.head_norm(heads, head_norm);
      return part.rotary ? layers.rotary(heads) : heads;
    };
    spec.q = placed(linear(part.query, q_width), part.query_norm);
    spec.k = placed(linear(part.key, kv_width), part.key_norm);
    spec.v = linear(part.value, kv_width);
  }
  if (architecture_->masked()) spec.lengths = layers.lengths();
  return layers.attention(spec);
}

TensorId Model::feed_forward(Layers& layers, const BlockPart& part, TensorId x) const {
  const ModelConfig& config = layers.config();
  const auto linear = [&](const std::string& name, Activation activation) {
    return layers.linear(x, {.name = name,
                             .outputs = config.ffn_width,
                             .bias = config.ffn_bias,
                             .weight_is_out_in = !architecture_->weights_in_out,
                             .split = Split::kColumns,
                             .activation = activation});
  };
  if (part.gate.empty()) return linear(part.up, config.activation);
  const TensorId up = linear(part.up, Activation::kNone);
  return swiglu(layers.builder(), linear(part.gate, Activation::kNone), up);
}

// Projections onto the residual stream may start smaller, so that its variance does not grow with depth. 0 means as
// others.
double Model::output_deviation(const ModelConfig& config) const {
  return architecture_->outputs_shrink
             ? config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.layers))
             : 0;
}

TensorId Model::output_of(Layers& layers, const BlockPart& part, TensorId inner) const {
  const ModelConfig& config = layers.config();
  return layers.linear(inner, {.name = part.output,
                               .outputs = config.width,
                               .bias = part.attention() ? config.attention_output_bias : config.ffn_bias,
                               .weight_is_out_in = !architecture_->weights_in_out,
                               .split = Split::kRows,
                               .deviation = output_deviation(config)});
}

// norm_after(x + dropout(y))
TensorId Model::add_part(Layers& layers, const BlockPart& part, TensorId x, TensorId y) const {
  const ModelConfig& config = layers.config();
  if (!part.dropout.empty()) y = layers.dropout(y, config.residual_dropout, part.dropout);
  return norm(layers, layers.add(x, y), part.norm_after);
}

TensorId Model::block(Layers& layers, std::int64_t number, TensorId x) const {
  const auto scope = layers.builder().in_layer(architecture_->in_block(number, ""));
  TensorId read = x;  // by the part at hand
  for (const BlockPart& part : architecture_->block.parts) {
    if (!part.beside) read = x;
    const TensorId normed = norm(layers, read, part.norm_before);
    const auto inner = [&] {
      return part.attention() ? attend(layers, part, normed) : feed_forward(layers, part, normed);
    };
    if (part.experts && is_sparse(layers.config(), number)) {
      x = within(layers, part.scope, [&] {
        const TensorId y = layers.experts(normed, {.names = *part.experts,
                                                   .weight_is_out_in = !architecture_->weights_in_out,
                                                   .output_deviation = output_deviation(layers.config())});
        return add_part(layers, part, x, y);
      });
    } else if (part.scope == part.output_scope) {
      x = within(layers, part.scope,
                 [&] { return add_part(layers, part, x, output_of(layers, part, inner())); });
    } else {
      const TensorId made = within(layers, part.scope, inner);
      x = within(layers, part.output_scope,
                 [&] { return add_part(layers, part, x, output_of(layers, part, made)); });
    }
  }
  return x;
}

void Model::head(Layers& layers, TensorId x) const {
  const ArchitectureDescription::Final& final = architecture_->final;
  const ArchitectureDescription::Output& output = architecture_->output;
  x = within(layers, final.scope,
             [&] { return norm(layers, generates() ? layers.last_states(x) : x, final.norm); });
  if (!output.transform.empty()) {
    const auto scope = layers.builder().in_layer(output.transform_scope);
    x = layers.linear(x, {.name = output.transform,
                          .outputs = layers.config().width,
                          .weight_is_out_in = !architecture_->weights_in_out,
                          .activation = layers.config().activation});
    x = norm(layers, x, output.transform_norm);
  }
  const auto scope = layers.builder().in_layer(output.scope);
  layers.head(x, {.weight = layers.config().tied_embeddings ? word_embeddings() : output.weight,
                  .bias = output.bias});
}

void build_forward(const ModelConfig& config, Layers& layers) {
  const Model model = model_of(config.architecture);
  TensorId x = model.embed(layers);
  for (std::int64_t number = 0; number < config.layers; ++number) {
    const auto scope = layers.builder().in_block(static_cast<std::int32_t>(number));
    x = model.block(layers, number, x);
  }
  model.head(layers, x);
}

}  // namespace nadi::inline describe
