#include "nadi/megatron_checkpoint/whole_names.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

// Behind the sum of a block's part.
std::string norm_behind(const ArchitectureDescription& architecture, std::int64_t layer,
                        const BlockPart& part) {
  return architecture.in_block(layer, joined_name(part.output_scope, part.norm_after));
}

std::string weight_or_none(std::string_view scope, const std::string& name) {
  return name.empty() ? "" : joined_name(scope, name) + ".weight";
}

}  // namespace

void require_megatron_form(const ModelConfig& config) {
  const ArchitectureDescription& architecture = *config.architecture;
  const std::vector<BlockPart>& parts = architecture.block.parts;
  const auto require = [&](bool fits, std::string_view why) {
    if (!fits)
      throw input_error({.file = config.name},
                        format("an architecture of type '{}' has no form in Megatron-LM: {}",
                               architecture.model_type, why));
  };
  if (architecture.experts())
    throw input_error({.file = config.name},
                      "Megatron-LM's checkpoints of experts are not read or written yet (its router and "
                      "local_experts, or experts.linear_fc1 and linear_fc2)",
                      "convert to or from a folder of Hugging Face");
  require(architecture.megatron.has_value(), "its description has no 'megatron'");
  require(parts.size() == 2 && parts[0].attention() && !parts[1].attention(),
          "a block there is attention and then a feed-forward layer");
  require(!parts[1].beside, "its parts stand one beside the other");
  const bool after = architecture.norms_after();
  for (const BlockPart& part : parts)
    require(part.norm_before.empty() == after && part.norm_after.empty() != after,
            "each part there has one norm, before or after it as all others");
  require(architecture.embedding.norm.empty() != after && architecture.final.norm.empty() == after,
          "the stream there is normed once more, before the first block or behind the last");
}

WholeNames whole_names(const ModelConfig& config) {
  const ArchitectureDescription& architecture = *config.architecture;
  const ArchitectureDescription::Embedding& embedding = architecture.embedding;
  const ArchitectureDescription::Output& output = architecture.output;
  const bool after = architecture.norms_after();
  WholeNames names{
      .words = architecture.word_embeddings(),
      .positions = weight_or_none(embedding.scope, embedding.positions),
      .token_types = weight_or_none(embedding.scope, embedding.token_types),
      .final_norm = after ? norm_behind(architecture, config.layers - 1, architecture.block.parts.back())
                          : joined_name(architecture.final.scope, architecture.final.norm),
      .output = output.weight,
      .output_bias = output.bias};
  if (!output.transform.empty()) {
    names.head_dense = joined_name(output.transform_scope, output.transform);
    names.head_norm = joined_name(output.transform_scope, output.transform_norm);
  }
  if (architecture.megatron) {
    names.pooler = architecture.megatron->pooler;
    names.binary_head = architecture.megatron->binary_head;
  }
  return names;
}

WholeLayerNames whole_layer_names(const ModelConfig& config, std::int64_t layer) {
  require_megatron_form(config);
  const ArchitectureDescription& architecture = *config.architecture;
  const BlockPart &attention = architecture.block.parts[0], &ffn = architecture.block.parts[1];
  const std::int64_t queries = config.heads * config.head_width, keys = config.kv_heads * config.head_width;
  const auto linear = [&](std::string_view scope, std::string_view name, std::int64_t first = 0) {
    return WholeLinear{.name = architecture.in_block(layer, joined_name(scope, name)),
                       .first_output = first,
                       .transposed = architecture.weights_in_out};
  };
  WholeLayerNames names;
  if (architecture.norms_after()) {
    const ArchitectureDescription::Embedding& embedding = architecture.embedding;
    names.input_norm =
        layer == 0 ? joined_name(embedding.scope, embedding.norm) : norm_behind(architecture, layer - 1, ffn);
    names.mlp_norm = norm_behind(architecture, layer, attention);
  } else {
    names.input_norm = architecture.in_block(layer, attention.norm_before);
    names.mlp_norm = architecture.in_block(layer, ffn.norm_before);
  }
  if (attention.packed.empty()) {
    names.query = linear(attention.scope, attention.query);
    names.key = linear(attention.scope, attention.key);
    names.value = linear(attention.scope, attention.value);
  } else {
    names.query = linear(attention.scope, attention.packed);
    names.key = linear(attention.scope, attention.packed, queries);
    names.value = linear(attention.scope, attention.packed, queries + keys);
  }
  if (!attention.query_norm.empty()) {
    names.query_norm = architecture.in_block(layer, joined_name(attention.scope, attention.query_norm));
    names.key_norm = architecture.in_block(layer, joined_name(attention.scope, attention.key_norm));
  }
  names.proj = linear(attention.output_scope, attention.output);
  if (!ffn.gate.empty()) names.fc1.push_back(linear(ffn.scope, ffn.gate));
  names.fc1.push_back(linear(ffn.scope, ffn.up));
  names.fc2 = linear(ffn.output_scope, ffn.output);
  return names;
}

}  // namespace nadi::inline files
