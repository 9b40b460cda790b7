#include "nadi/megatron_checkpoint/torch_dist_source.h"

#include <array>
#include <set>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/megatron_checkpoint/block_source.h"
#include "nadi/megatron_checkpoint/megatron_args.h"
#include "nadi/megatron_checkpoint/torch_dist_folder.h"

namespace nadi::inline files {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kStates{
    {{"exp_avg", kFirstMoment}, {"exp_avg_sq", kSecondMoment}, {"fp32_param", kMasterWeights}}};

std::string state_name(std::string_view state, const std::string& tensor) {
  return format("optimizer.state.{}.{}", state, tensor);
}

class GlobalFacts {
 public:
  explicit GlobalFacts(const TorchDistFolder& folder) : folder_(folder) {}

  MegatronFacts read() const {
    MegatronFacts facts;
    facts.encoder = find("encoder.layers.self_attention.linear_qkv.weight") != nullptr;
    layers_ = facts.encoder ? "encoder.layers." : "decoder.layers.";
    const Shape words = folder_.at("embedding.word_embeddings.weight").data.shape();
    const Shape qkv = of_layer("self_attention.linear_qkv.weight"), fc1 = of_layer("mlp.linear_fc1.weight"),
                fc2 = of_layer("mlp.linear_fc2.weight");
    if (words.rank() != 2 || qkv.rank() != 3 || fc1.rank() != 3 || fc2.rank() != 3)
      throw input_error({.file = folder_.path().string()},
                        "tensors of layers are not stacked as Megatron-LM does");
    facts.padded_vocabulary = words[0];
    facts.width = words[1];
    facts.layers = qkv[0];
    facts.qkv_rows = qkv[1];
    facts.fc1_rows = fc1[1];
    facts.ffn_width = fc2[2];
    if (const auto* positions = find("embedding.position_embeddings.weight"))
      facts.positions = positions->data.shape()[0];
    if (const auto* types = find("embedding.tokentype_embeddings.weight"))
      facts.token_types = types->data.shape()[0];
    facts.norm_bias = has_in_layer("self_attention.linear_qkv.layer_norm_bias");
    facts.head_norms = has_in_layer("self_attention.q_layernorm.weight");
    facts.qkv_bias = has_in_layer("self_attention.linear_qkv.bias");
    facts.attention_output_bias = has_in_layer("self_attention.linear_proj.bias");
    facts.ffn_bias = has_in_layer("mlp.linear_fc1.bias");
    facts.own_output_layer = find("output_layer.weight") != nullptr;
    return facts;
  }

 private:
  const TorchDistEntry* find(const std::string& name) const { return folder_.find(name); }
  bool has_in_layer(const std::string& name) const { return find(layers_ + name) != nullptr; }
  const Shape& of_layer(const std::string& name) const { return folder_.at(layers_ + name).data.shape(); }

  const TorchDistFolder& folder_;
  mutable std::string layers_;
};

// One shard for each region of each tensor.
void add_shards(const TorchDistFolder& folder, const TorchDistEntry& entry, const ShardTensor& tensor,
                std::vector<MappedShard>& shards) {
  if (entry.data.shape() != tensor.shape)
    throw input_error({.file = (folder.path() / kTorchDistMetadataFile).string()},
                      format("'{}' is {}, and the configuration says {}", entry.name,
                             entry.data.shape().to_string(), tensor.shape.to_string()));
  const bool vector = tensor.shape.rank() == 1;
  for (const ChunkedTensor::Region& region : entry.data.regions()) {
    // There a vector is a column, here a row.
    const TensorBlock part =
        vector
            ? TensorBlock{.row = region.column, .rows = region.columns, .columns = 1}
            : TensorBlock{
                  .row = region.row, .rows = region.rows, .column = region.column, .columns = region.columns};
    const Shape shape = vector ? Shape{region.columns} : Shape{region.rows, region.columns};
    shards.push_back({.tensor = cut_tensor(tensor, part, shape),
                      .dtype = entry.dtype,
                      .data = region.data,
                      .file = entry.place});
  }
}

// Forms of a distributed optimizer that are bound to the number of ranks.
void refuse_gathered_optimizer(const TorchDistFolder& folder) {
  for (const TorchDistObject& object : folder.objects())
    if (object.name.starts_with("optimizer.distributed.") &&
        object.name.find(".param_state") != std::string::npos)
      throw input_error(
          {.file = (folder.path() / kTorchDistMetadataFile).string()},
          format("'{}': the distributed optimizer was saved for its own number of ranks only", object.name),
          "save it with --ckpt-fully-parallel-save, or leave the optimizer out");
  for (const TorchDistEntry& entry : folder.entries())
    if (entry.name.starts_with("optimizer.distributed."))
      throw input_error(
          {.file = (folder.path() / kTorchDistMetadataFile).string()},
          format("'{}': the distributed optimizer was saved by buckets of its own ranks", entry.name),
          "load and save it once with a Megatron-LM of today, or leave the optimizer out");
}

// The split of the run that wrote it, as far as `args` say; the files do not depend on it.
MegatronSplit split_of_run(const std::optional<PickleValue>& args, std::int64_t padded_vocabulary) {
  MegatronSplit split{.padded_vocabulary = padded_vocabulary, .whole_vocabulary = padded_vocabulary};
  const auto number = [&](const char* name, std::int64_t& into) {
    const auto value = args ? args->find(name) : std::nullopt;
    if (value && value->is_int() && value->as_int64() > 0) into = value->as_int64();
  };
  number("tensor_model_parallel_size", split.tp);
  number("pipeline_model_parallel_size", split.pp);
  number("virtual_pipeline_model_parallel_size", split.virtual_stages);
  return split;
}

}  // namespace

std::unique_ptr<BlockSource> open_torch_dist_checkpoint(const std::filesystem::path& folder,
                                                        const std::optional<ModelConfig>& config,
                                                        Verify verify) {
  if (!is_torch_dist_folder(folder))
    throw input_error({.file = folder.string()},
                      "the folder has no metadata.json: it is no torch_dist checkpoint");
  const auto files = std::make_shared<const TorchDistFolder>(folder, verify);
  refuse_gathered_optimizer(*files);
  const PickleValue common = files->common();
  const MegatronFacts facts = GlobalFacts(*files).read();
  if (config) require_fits(*config, facts, folder.string());
  ModelConfig model = config ? *config : config_of(common.find("args"), facts, folder.string());
  const ShardLayout layout(
      model, {.padded_vocabulary = facts.padded_vocabulary, .whole_vocabulary = facts.padded_vocabulary});

  std::vector<MappedShard> shards;
  std::set<std::string> known;
  bool has_optimizer = false, flattened = false;
  for (const ShardTensor& tensor : layout.global()) {
    add_shards(*files, files->at(tensor.name), tensor, shards);
    known.insert(tensor.name);
    for (const auto& [state, suffix] : kStates) {
      const std::string name = state_name(state, tensor.name);
      known.insert(name);
      const TorchDistEntry* entry = files->find(name);
      if (entry == nullptr) continue;
      has_optimizer = true;
      flattened = flattened || entry->flattened;
      add_shards(*files, *entry, with_suffix(tensor, suffix), shards);
    }
  }
  for (const TorchDistEntry& entry : files->entries())
    if (!known.contains(entry.name))
      throw input_error({.file = (folder / kTorchDistMetadataFile).string()},
                        format("'{}' {} is not part of the model that the checkpoint describes", entry.name,
                               entry.data.shape().to_string()));

  TrainingProgress progress = progress_of(common);
  if (std::filesystem::exists(folder / kTrainingStateFile)) progress.own = read_training_state(folder);
  return std::make_unique<BlockSource>(BlockSource::Contents{
      .config = std::move(model),
      .shards = std::move(shards),
      .progress = std::move(progress),
      .split = split_of_run(common.find("args"), facts.padded_vocabulary),
      .distributed_optimizer = flattened,
      .kind = format("Megatron-LM checkpoint (torch_dist){}", has_optimizer ? " with optimizer" : ""),
      .file = folder.string(),
      .keep = {files},
      .memory = files->memory(),
      .notes = files->notes()});
}

}  // namespace nadi::inline files
