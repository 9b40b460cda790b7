#include "nadi/megatron_checkpoint/legacy_source.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "nadi/base/checked_memory.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/megatron_checkpoint/legacy_optimizer.h"
#include "nadi/megatron_checkpoint/megatron_args.h"
#include "nadi/megatron_checkpoint/rank_files.h"

namespace nadi::inline files {
namespace {

constexpr std::string_view kExtraState = "._extra_state";
constexpr std::int64_t kLargestExtent = std::int64_t{1}
                                        << 32;  // of real tensors by far, so that products fit

// The tensors of a "model" by name. Buffers that Megatron computes anew are left out.
std::map<std::string, PickleValue, std::less<>> tensors_of(PickleValue model) {
  std::map<std::string, PickleValue, std::less<>> tensors;
  for (const PickleItem& item : model.items()) {
    const std::string_view name = item.key.as_text();
    if (name.ends_with(kExtraState) || name == "rotary_pos_emb.inv_freq") continue;
    if (!item.value.is_tensor()) throw error_at(item.value, format("'{}' is no tensor", name));
    tensors.emplace(name, item.value);
  }
  return tensors;
}

// The layer of "decoder.layers.3.mlp...", and what comes after it; nothing for other names.
struct LayerName {
  std::int64_t number = 0;
  std::string_view rest = {};
};
std::optional<LayerName> layer_name(std::string_view name) {
  for (const std::string_view prefix : {"decoder.layers.", "encoder.layers."}) {
    if (!name.starts_with(prefix)) continue;
    LayerName layer;
    const char* end = name.data() + name.size();
    const auto [next, error] = std::from_chars(name.data() + prefix.size(), end, layer.number);
    if (error != std::errc() || next == end || *next != '.') return std::nullopt;
    layer.rest = name.substr(static_cast<std::size_t>(next + 1 - name.data()));
    return layer;
  }
  return std::nullopt;
}

// What the tensors say, gone through once on the first tensor-parallel rank of each stage.
class LegacyFacts {
 public:
  explicit LegacyFacts(const RankFiles& files) : files_(files) {
    split.tp = files.tp;
    split.pp = files.pp;
    split.virtual_stages = files.virtual_stages;
    split.naming = MegatronNaming::kLocal;
    for (std::int64_t chunk = 0; chunk < files.virtual_stages; ++chunk)
      for (std::int64_t pp = 0; pp < files.pp; ++pp) add_chunk(files.at({.pp = pp}), chunk);
    if (facts.layers == 0 || facts.padded_vocabulary == 0)
      throw input_error({.file = files.ranks.front().name},
                        "the file has no layers and no embeddings as Megatron Core names them",
                        "models of Megatron-LM before its Core (--use-legacy-models) are not known");
    facts.own_output_layer = output_layer_ && files.pp == 1;
    split.padded_vocabulary = split.whole_vocabulary = facts.padded_vocabulary;
  }

  MegatronFacts facts;
  MegatronSplit split;

 private:
  void add_chunk(const RankFile& rank, std::int64_t chunk) {
    std::int64_t layers = 0;
    const auto tensors = tensors_of(rank.root().at(files_.chunk_key(chunk)));
    for (const auto& [name, value] : tensors) {
      const Shape& shape = value.as_tensor().shape;
      const std::int64_t rows = shape.rank() > 0 ? shape[0] : 1, columns = shape.rank() > 1 ? shape[1] : 1;
      if (rows > kLargestExtent || columns > kLargestExtent)
        throw error_at(value, format("a tensor of shape {} is no parameter", shape.to_string()));
      if (const auto layer = layer_name(name)) {
        if (layer->number < 0 || layer->number >= static_cast<std::int64_t>(tensors.size()))
          throw error_at(value, format("layer {} of a part with {} tensors", layer->number, tensors.size()),
                         "the file is damaged");
        layers = std::max(layers, layer->number + 1);
        add_layer_tensor(layer->rest, rows, columns);
        facts.encoder = name.starts_with("encoder.");
      } else if (name == "embedding.word_embeddings.weight") {
        facts.width = columns;
        facts.padded_vocabulary = rows * files_.tp;
      } else if (name == "embedding.position_embeddings.weight") {
        facts.positions = rows;
      } else if (name == "embedding.tokentype_embeddings.weight") {
        facts.token_types = rows;
      } else if (name == "output_layer.weight") {
        output_layer_ = true;
      } else if (name == "binary_head.weight") {
        split.bert_binary_head = true;
      }
    }
    split.partition.push_back(layers);
    facts.layers += layers;
  }

  void add_layer_tensor(std::string_view name, std::int64_t rows, std::int64_t columns) {
    if (name.find("layer_norm_") != std::string_view::npos) split.naming = MegatronNaming::kTransformerEngine;
    if (name == "self_attention.linear_qkv.weight") facts.qkv_rows = rows * files_.tp;
    if (name == "mlp.linear_fc1.weight") facts.fc1_rows = rows * files_.tp;
    if (name == "mlp.linear_fc2.weight") facts.ffn_width = columns * files_.tp;
    facts.norm_bias |= name.ends_with("layernorm.bias") || name.ends_with("layer_norm_bias");
    facts.head_norms |= name == "self_attention.q_layernorm.weight";
    facts.qkv_bias |= name == "self_attention.linear_qkv.bias";
    facts.attention_output_bias |= name == "self_attention.linear_proj.bias";
    facts.ffn_bias |= name == "mlp.linear_fc1.bias";
  }

  const RankFiles& files_;
  bool output_layer_ = false;
};

// All tensors that the layout asks for, and no others.
void add_chunk_shards(const RankFile& rank, const ShardChunk& chunk, std::vector<MappedShard>& shards) {
  const PickleValue model = rank.root().at(chunk.key);
  std::map<std::string, PickleValue, std::less<>> stored = tensors_of(model);
  for (const ShardTensor& wanted : chunk.tensors) {
    const auto found = stored.find(wanted.name);
    if (found == stored.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : stored) names.push_back(name);
      throw input_error({.file = rank.name}, format("'{}' has no '{}'", chunk.key, wanted.name),
                        did_you_mean(wanted.name, names));
    }
    shards.push_back(mapped_shard(found->second, wanted, rank.name));
    stored.erase(found);
  }
  if (!stored.empty())
    throw error_at(
        stored.begin()->second,
        format("'{}' is no tensor of this model ({} such in the file)", stored.begin()->first, stored.size()),
        "the configuration is of another model, or the model is none that Nadi knows");
}

std::string kind_in_words(const MegatronSplit& split) {
  std::string text = format("Megatron-LM checkpoint (torch), tp {}, pp {}", split.tp, split.pp);
  if (split.virtual_stages > 1) text += format(", {} virtual stages", split.virtual_stages);
  return text + format(", names of {}",
                       split.naming == MegatronNaming::kLocal ? "local layers" : "Transformer Engine");
}

}  // namespace

std::unique_ptr<BlockSource> open_legacy_checkpoint(const std::filesystem::path& folder,
                                                    const LegacyOptions& options) {
  const auto found = find_megatron_checkpoint(folder, options.iteration);
  if (!found || found->form != MegatronForm::kTorch)
    throw input_error({.file = folder.string()},
                      "this is no checkpoint of Megatron-LM in the format 'torch'");
  if (options.verify == Verify::kYes)
    if (const auto manifest = ChecksumManifest::read(found->path)) manifest->check_files();
  const RankFiles files = open_rank_files(found->path);
  const RankFile& first = files.ranks.front();
  LegacyFacts known(files);
  if (options.config) require_fits(*options.config, known.facts, first.name);
  const ModelConfig config =
      options.config ? *options.config : config_of(first.root().find("args"), known.facts, first.name);
  const ShardLayout layout(config, known.split);

  BlockSource::Contents contents{
      .config = config, .shards = {}, .kind = kind_in_words(known.split), .file = found->path.string()};
  contents.split = layout.split();
  contents.progress = progress_of(first.root());
  if (std::filesystem::exists(found->path / kTrainingStateFile))
    contents.progress->own = read_training_state(found->path);
  const bool has_optimizer = options.optimizer && has_optimizer_state(files);
  if (!has_optimizer) contents.progress->adam.reset();
  for (const RankFile& rank : files.ranks) {
    const std::vector<ShardChunk> chunks = layout.rank(rank.place);
    for (const ShardChunk& chunk : chunks) add_chunk_shards(rank, chunk, contents.shards);
    contents.archives.push_back(rank.file);
    if (has_optimizer) add_optimizer_shards(rank, layout, chunks, contents);
  }
  if (options.verify == Verify::kYes) {
    const auto memory = std::make_shared<CheckedMemory>();
    for (const std::shared_ptr<const TorchFile>& file : contents.archives) {
      file->watch(*memory);
      if (file->lacks_checksums()) contents.notes.push_back(no_checksums_note(file->file()));
    }
    contents.memory = memory;
  }
  return std::make_unique<BlockSource>(std::move(contents));
}

}  // namespace nadi::inline files
