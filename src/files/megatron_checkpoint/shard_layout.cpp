#include "nadi/megatron_checkpoint/shard_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/whole_parameters.h"
#include "nadi/megatron_checkpoint/whole_names.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline files {
namespace {

// Part `number` of `parts` equal ones.
struct LayoutRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};
LayoutRange part_of(std::int64_t whole, std::int64_t number, std::int64_t parts) {
  return {number * (whole / parts), whole / parts};
}

void add_matrix(ShardTensor& tensor, const WholeLinear& from, const LayoutRange& outputs,
                const LayoutRange& inputs) {
  ShardBlock block{.tensor = from.name + ".weight", .transposed = from.transposed};
  const LayoutRange moved{from.first_output + outputs.begin, outputs.count};
  const LayoutRange& rows = from.transposed ? inputs : moved;
  const LayoutRange& columns = from.transposed ? moved : inputs;
  block.block = {.row = rows.begin, .rows = rows.count, .column = columns.begin, .columns = columns.count};
  tensor.blocks.push_back(std::move(block));
}

void add_vector(ShardTensor& tensor, const std::string& name, const LayoutRange& range) {
  tensor.blocks.push_back({.tensor = name, .block = {.row = range.begin, .rows = range.count, .columns = 1}});
}

void require_divides(std::string_view what, std::int64_t number, std::string_view over, std::int64_t parts) {
  if (number % parts != 0)
    throw usage_error(format("{} {} do not divide over {} {}", number, what, parts, over),
                      "choose a split that divides them");
}

}  // namespace

std::string_view to_string(MegatronNaming naming) {
  return naming == MegatronNaming::kLocal ? "local" : "transformer_engine";
}

std::int64_t padded_vocabulary(std::int64_t vocabulary, std::int64_t tp, std::int64_t divisible_by) {
  const std::int64_t multiple = divisible_by * tp;
  return (vocabulary + multiple - 1) / multiple * multiple;
}

// Builds the tensors of one chunk on one rank.
class ShardLayout::Stage {
 public:
  Stage(const ShardLayout& layout, std::int64_t tp_place)
      : layout_(layout), config_(layout.config_), tp_(layout.split_.tp), place_(tp_place) {}

  void embedding() {
    const WholeNames names = whole_names(config_);
    vocabulary("embedding.word_embeddings.weight", names.words, config_.width);
    if (!names.positions.empty())
      matrix("embedding.position_embeddings.weight", names.positions, {config_.positions, config_.width});
    if (!names.token_types.empty())
      matrix("embedding.tokentype_embeddings.weight", names.token_types,
             {config_.token_types, config_.width});
  }

  // `number` in the model, `local` in the chunk.
  void layer(std::int64_t number, std::int64_t local) {
    const WholeLayerNames names = whole_layer_names(config_, number);
    const std::string prefix = format("{}.layers.{}.", block_name(), local);
    const bool engine = layout_.split_.naming == MegatronNaming::kTransformerEngine;
    const LayoutRange all{0, config_.width};
    if (!engine) norm(prefix + "input_layernorm.", names.input_norm);
    const LayoutRange context = part_of(config_.heads * config_.head_width, place_, tp_);
    linear(prefix + "self_attention.linear_proj.", names.proj, all, context);
    if (engine) norm(prefix + "self_attention.linear_qkv.layer_norm_", names.input_norm);
    query_key_value(prefix + "self_attention.linear_qkv.", names);
    if (!names.query_norm.empty()) {
      norm(prefix + "self_attention.q_layernorm.", names.query_norm, config_.head_width);
      norm(prefix + "self_attention.k_layernorm.", names.key_norm, config_.head_width);
    }
    if (!engine) norm(prefix + "pre_mlp_layernorm.", names.mlp_norm);
    if (engine) norm(prefix + "mlp.linear_fc1.layer_norm_", names.mlp_norm);
    const LayoutRange inner = part_of(config_.ffn_width, place_, tp_);
    packed(prefix + "mlp.linear_fc1.", names.fc1, {inner, inner});
    linear(prefix + "mlp.linear_fc2.", names.fc2, all, inner);
  }

  void head() {
    const WholeNames names = whole_names(config_);
    norm(block_name() + ".final_layernorm.", names.final_norm);
    if (!names.head_dense.empty()) {
      const LayoutRange all{0, config_.width};
      linear("lm_head.dense.", {.name = names.head_dense}, all, all);
      norm("lm_head.layer_norm.", names.head_norm);
    }
    if (!config_.tied_embeddings)
      vocabulary("output_layer.weight", names.output, config_.width);
    else if (layout_.split_.pp > 1)
      vocabulary("output_layer.weight", names.words, config_.width);
    if (!names.output_bias.empty()) vocabulary("output_layer.bias", names.output_bias, 0);
    if (layout_.split_.bert_binary_head) {
      matrix("binary_head.weight", names.binary_head + ".weight", {kSentenceClasses, config_.width});
      add({.name = "binary_head.bias", .shape = {kSentenceClasses}}, [&](ShardTensor& t) {
        add_vector(t, names.binary_head + ".bias", {0, kSentenceClasses});
      });
      matrix("pooler.dense.weight", names.pooler + ".weight", {config_.width, config_.width});
      add({.name = "pooler.dense.bias", .shape = {config_.width}}, [&](ShardTensor& t) {
        add_vector(t, names.pooler + ".bias", {0, config_.width});
      });
    }
  }

  std::vector<ShardTensor> take() { return std::move(tensors_); }

 private:
  static constexpr std::int64_t kSentenceClasses = 2;  // the next sentence, or another

  std::string block_name() const { return config_.architecture->megatron->blocks; }

  template <class Fill>
  void add(ShardTensor tensor, Fill&& fill) {
    fill(tensor);
    tensors_.push_back(std::move(tensor));
  }

  void matrix(const std::string& name, const std::string& whole, const Shape& shape) {
    add({.name = name, .shape = shape}, [&](ShardTensor& t) {
      t.blocks.push_back({.tensor = whole, .block = {.rows = shape[0], .columns = shape[1]}});
    });
  }

  // `prefix` ends in '.' or '_'.
  void norm(const std::string& prefix, const std::string& whole) { norm(prefix, whole, config_.width); }
  void norm(const std::string& prefix, const std::string& whole, std::int64_t width) {
    for (const char* part : {"weight", "bias"}) {
      const std::string parameter = whole + "." + part;
      if (!layout_.has(parameter)) continue;
      add({.name = prefix + part, .shape = {width}}, [&](ShardTensor& t) {
        add_vector(t, parameter, {0, width});
      });
    }
  }

  // Rows of the padded vocabulary; `columns` 0 for a vector.
  void vocabulary(const std::string& name, const std::string& whole, std::int64_t columns) {
    const LayoutRange mine = part_of(layout_.split_.padded_vocabulary, place_, tp_);
    const std::int64_t there = layout_.split_.whole_vocabulary;
    const std::int64_t real = std::clamp<std::int64_t>(there - mine.begin, 0, mine.count);
    const std::int64_t width = std::max<std::int64_t>(columns, 1);
    add({.name = name, .shape = columns > 0 ? Shape{mine.count, columns} : Shape{mine.count}},
        [&](ShardTensor& t) {
          if (real > 0)
            t.blocks.push_back(
                {.tensor = whole, .block = {.row = mine.begin, .rows = real, .columns = width}});
          if (real < mine.count)
            t.blocks.push_back({.tensor = whole,
                                .block = {.row = there - 1, .rows = 1, .columns = width},
                                .padding = mine.count - real});
        });
  }

  // One whole linear layer, of which this rank has these outputs and inputs. Biases go with the outputs.
  void linear(const std::string& prefix, const WholeLinear& from, const LayoutRange& outputs,
              const LayoutRange& inputs) {
    add({.name = prefix + "weight", .shape = {outputs.count, inputs.count}},
        [&](ShardTensor& t) { add_matrix(t, from, outputs, inputs); });
    if (!layout_.has(from.name + ".bias")) return;
    add({.name = prefix + "bias", .shape = {outputs.count}}, [&](ShardTensor& t) {
      add_vector(t, from.name + ".bias", {from.first_output + outputs.begin, outputs.count});
    });
  }

  // Several whole linear layers on the same inputs, their parts stacked.
  void packed(const std::string& prefix, const std::vector<WholeLinear>& from,
              const std::vector<LayoutRange>& outputs) {
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < from.size(); ++i) rows += outputs[i].count;
    add({.name = prefix + "weight", .shape = {rows, config_.width}}, [&](ShardTensor& t) {
      for (std::size_t i = 0; i < from.size(); ++i) add_matrix(t, from[i], outputs[i], {0, config_.width});
    });
    if (!layout_.has(from[0].name + ".bias")) return;
    add({.name = prefix + "bias", .shape = {rows}}, [&](ShardTensor& t) {
      for (std::size_t i = 0; i < from.size(); ++i)
        add_vector(t, from[i].name + ".bias", {from[i].first_output + outputs[i].begin, outputs[i].count});
    });
  }

  void query_key_value(const std::string& prefix, const WholeLayerNames& names) {
    const LayoutRange groups = part_of(config_.kv_heads, place_, tp_);
    const std::int64_t queries = config_.heads / config_.kv_heads * config_.head_width;
    std::vector<WholeLinear> from;
    std::vector<LayoutRange> outputs;
    for (std::int64_t group = groups.begin; group < groups.begin + groups.count; ++group) {
      from.insert(from.end(), {names.query, names.key, names.value});
      outputs.push_back({group * queries, queries});
      outputs.insert(outputs.end(), 2, {group * config_.head_width, config_.head_width});
    }
    packed(prefix, from, outputs);
  }

  const ShardLayout& layout_;
  const ModelConfig& config_;
  std::int64_t tp_, place_;
  std::vector<ShardTensor> tensors_;
};

ShardLayout::ShardLayout(const ModelConfig& config, const MegatronSplit& split)
    : config_(config), split_(split) {
  require_megatron_form(config_);
  for (const WantedTensor& parameter : whole_parameters(config)) parameters_.insert(parameter.name);
  if (split_.padded_vocabulary == 0) {
    check(split_.tp > 0, "a split has tensor-parallel ranks");
    split_.padded_vocabulary = nadi::padded_vocabulary(config.vocabulary, split_.tp);
  }
  if (split_.whole_vocabulary == 0) split_.whole_vocabulary = config.vocabulary;
  check_split();
  if (split_.partition.empty())
    split_.partition =
        resolved_partition(config_, {.pp = split_.pp, .virtual_stages = split_.virtual_stages});
}

void ShardLayout::check_split() const {
  require_divides("groups of queries", config_.kv_heads, "tensor-parallel ranks", split_.tp);
  require_divides("rows of the feed-forward layer", config_.ffn_width, "tensor-parallel ranks", split_.tp);
  require_divides("rows of the padded vocabulary", split_.padded_vocabulary, "tensor-parallel ranks",
                  split_.tp);
  if (split_.virtual_stages > 1 && split_.pp == 1)
    throw usage_error(format("{} virtual stages want several pipeline stages", split_.virtual_stages));
  const std::int64_t chunks = split_.pp * split_.virtual_stages;
  if (split_.partition.empty()) {
    if (split_.virtual_stages > 1)
      require_divides("layers", config_.layers, "virtual stages in all", chunks);
    else if (config_.layers < chunks)
      throw usage_error(format("{} layers do not fill {} pipeline stages", config_.layers, chunks));
    return;
  }
  const std::int64_t layers =
      std::accumulate(split_.partition.begin(), split_.partition.end(), std::int64_t{0});
  if (static_cast<std::int64_t>(split_.partition.size()) != chunks || layers != config_.layers)
    throw usage_error(format("the partition has {} layers in {} parts; the model has {} layers, the split {}",
                             layers, split_.partition.size(), config_.layers, chunks));
}

std::vector<ShardChunk> ShardLayout::rank(const ShardPlace& place) const {
  check(place.tp >= 0 && place.tp < split_.tp && place.pp >= 0 && place.pp < split_.pp,
        "the place is one of the split's");
  std::vector<ShardChunk> chunks;
  for (std::int64_t v = 0; v < split_.virtual_stages; ++v) {
    const std::int64_t number = v * split_.pp + place.pp;
    const auto begin = split_.partition.begin();
    ShardChunk chunk{.key = split_.virtual_stages > 1 ? format("model{}", v) : "model",
                     .first_layer = std::accumulate(begin, begin + number, std::int64_t{0}),
                     .layers = split_.partition[static_cast<std::size_t>(number)]};
    Stage stage(*this, place.tp);
    if (number == 0) stage.embedding();
    for (std::int64_t i = 0; i < chunk.layers; ++i) stage.layer(chunk.first_layer + i, i);
    if (number + 1 == split_.pp * split_.virtual_stages) stage.head();
    chunk.tensors = stage.take();
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

// The layout on one rank, with the numbers of the layers taken out of the names and their tensors put one
// after another.
std::vector<ShardTensor> ShardLayout::global() const {
  MegatronSplit unsplit = split_;
  unsplit.tp = unsplit.pp = unsplit.virtual_stages = 1;
  unsplit.partition = {config_.layers};
  unsplit.naming = MegatronNaming::kTransformerEngine;
  std::vector<ShardTensor> stacked;
  std::map<std::string, std::size_t> places;
  std::vector<ShardTensor> tensors = std::move(ShardLayout(config_, unsplit).rank({}).front().tensors);
  for (ShardTensor& tensor : tensors) {
    constexpr std::string_view kLayers = ".layers.";
    const std::size_t at = tensor.name.find(kLayers);
    if (at == std::string::npos) {
      stacked.push_back(std::move(tensor));
      continue;
    }
    const std::size_t number = at + kLayers.size();
    const std::string name =
        tensor.name.substr(0, number) + tensor.name.substr(tensor.name.find('.', number) + 1);
    const auto [place, is_new] = places.emplace(name, stacked.size());
    if (is_new) {
      std::vector<std::int64_t> extents{config_.layers};
      extents.insert(extents.end(), tensor.shape.extents().begin(), tensor.shape.extents().end());
      stacked.push_back({.name = name, .shape = Shape(extents), .blocks = std::move(tensor.blocks)});
    } else {
      std::ranges::move(tensor.blocks, std::back_inserter(stacked[place->second].blocks));
    }
  }
  return stacked;
}

std::vector<WholeIndexEntry> whole_index(const std::vector<const ShardTensor*>& shards) {
  std::vector<WholeIndexEntry> index;
  std::map<std::string, std::size_t> places;
  std::map<std::pair<std::size_t, std::pair<std::int64_t, std::int64_t>>, TensorBlock> corners;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    std::int64_t first = 0;
    for (const ShardBlock& block : shards[shard]->blocks) {
      if (block.padding == 0) {
        const auto [place, is_new] = places.emplace(block.tensor, index.size());
        if (is_new) index.push_back({.name = block.tensor});
        WholeIndexEntry& entry = index[place->second];
        const auto corner = std::pair(place->second, std::pair(block.block.row, block.block.column));
        const bool piece = corners.emplace(corner, block.block).second;
        check(corners.at(corner) == block.block, "copies of a block have the same size");
        (piece ? entry.pieces : entry.replicas)
            .push_back(
                {.shard = shard, .first = first, .block = block.block, .transposed = block.transposed});
      }
      first += block.elements();
    }
  }
  return index;
}

std::string shard_folder(const MegatronSplit& split, const ShardPlace& place) {
  return split.pp > 1 ? format("mp_rank_{:02d}_{:03d}", place.tp, place.pp)
                      : format("mp_rank_{:02d}", place.tp);
}

}  // namespace nadi::inline files
