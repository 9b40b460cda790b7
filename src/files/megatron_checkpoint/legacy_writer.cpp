#include "nadi/megatron_checkpoint/legacy_writer.h"

#include <array>
#include <cstring>
#include <map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/megatron_checkpoint/legacy_optimizer.h"
#include "nadi/megatron_checkpoint/rank_files.h"
#include "nadi/megatron_checkpoint/torch_target.h"
#include "nadi/torch_file/pickle_arena.h"

namespace nadi::inline files {
namespace {

// Modules of a layer that have an `_extra_state`, in Megatron's order; attention itself only with Transformer
// Engine.
constexpr std::array<std::string_view, 4> kStatefulModules{
    "self_attention.linear_proj", "self_attention.linear_qkv", "mlp.linear_fc1", "mlp.linear_fc2"};
constexpr std::string_view kOutputModule = "output_layer";
constexpr std::int64_t kHysteresis = 2;  // Megatron's default: overflows after which the loss scale falls

// "decoder.layers.0.mlp.linear_fc1.layer_norm_weight" -> "decoder.layers.0.mlp.linear_fc1".
std::string_view module_of(std::string_view tensor) {
  return tensor.substr(0, tensor.rfind('.'));
}

// A file of the checkpoint in the making: values, and what its storages are filled with.
class FileValues {
 public:
  PickleArena& values() { return values_; }

  PickleValue tensor(const Shape& shape, FileDType dtype, std::vector<ShardBlock> blocks) {
    return add(shape, {.dtype = dtype, .blocks = std::move(blocks)});
  }
  PickleValue scalar(float value) { return ready({}, {value}); }
  PickleValue numbers(const std::vector<float>& all) {
    return ready({static_cast<std::int64_t>(all.size())}, all);
  }
  TargetFile finish(std::string name, PickleValue root, const std::string& archive) const {
    return torch_target(std::move(name), root, contents_, archive);
  }

 private:
  PickleValue ready(const Shape& shape, const std::vector<float>& all) {
    std::string bytes(all.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), all.data(), bytes.size());
    return add(shape, {.dtype = FileDType::kF32, .bytes = std::move(bytes)});
  }

  PickleValue add(const Shape& shape, StorageContent content) {
    TorchStorage& storage = values_.storage(content.dtype, shape.elements());
    contents_.emplace(&storage, std::move(content));
    return values_.tensor({.storage = &storage,
                           .dtype = contents_.at(&storage).dtype,
                           .shape = shape,
                           .strides = contiguous_strides(shape)});
  }

  PickleArena values_;
  std::map<const TorchStorage*, StorageContent> contents_;
};

class LegacyRankWriter {
 public:
  LegacyRankWriter(const WholeModel& model, const ShardLayout& layout, const MegatronTarget& target,
                   const ShardPlace& place)
      : model_(model),
        layout_(layout),
        target_(target),
        place_(place),
        chunks_(layout.rank(place)),
        folder_(shard_folder(layout.split(), place)) {}

  TargetFile rank_file() {
    FileValues file;
    PickleArena& values = file.values();
    const PickleValue root = values.dict();
    values.set(root, "args", megatron_args(values, layout_, target_, model_.progress()));
    values.set(root, "checkpoint_version", values.real(3.0));
    values.set(root, "iteration", values.integer(target_.iteration));
    for (const ShardChunk& chunk : chunks_) values.set(root, chunk.key, model_dictionary(file, chunk));
    if (target_.optimizer) {
      values.set(root, "optimizer",
                 target_.distributed_optimizer ? groups_alone(file) : plain_optimizer(file));
      values.set(root, "opt_param_scheduler", megatron_scheduler(values, progress()));
    }
    values.set(root, "num_floating_point_operations_so_far", values.integer(0));
    return file.finish(folder_ + "/" + kRankFile, root, "model_optim_rng");
  }

  TargetFile optimizer_file() {
    FileValues file;
    PickleArena& values = file.values();
    const PickleValue root = values.dict();
    values.set(root, "buckets_coalesced", values.boolean(true));
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const PickleValue types = values.tuple({values.dtype(target_.dtype), values.dtype(FileDType::kF32)});
      const PickleValue by_type = values.dict();
      values.set(by_type, types, flat_buffer_dictionary(file, chunk));
      values.set(root, values.integer(static_cast<std::int64_t>(chunk)), by_type);
    }
    return file.finish(folder_ + "/" + kDistributedOptimizerFile, root, "distrib_optim");
  }

 private:
  const TrainingProgress& progress() const { return *model_.progress(); }

  bool has_masters() const { return target_.dtype != FileDType::kF32; }

  // Blocks of the fp32 values that the weights are rounded from: masters where the source has them.
  std::vector<ShardBlock> master_blocks(const ShardTensor& tensor) const {
    std::vector<ShardBlock> blocks = tensor.blocks;
    for (ShardBlock& block : blocks) {
      const std::string master = block.tensor + std::string(kMasterWeights);
      if (model_.find(master) != nullptr) block.tensor = master;
    }
    return blocks;
  }

  // Weights in fp32 that go on being trained are the masters, not what they were rounded to.
  std::vector<ShardBlock> weight_blocks(const ShardTensor& tensor) const {
    return target_.optimizer && !has_masters() ? master_blocks(tensor) : tensor.blocks;
  }

  PickleValue model_dictionary(FileValues& file, const ShardChunk& chunk) const {
    PickleArena& values = file.values();
    const PickleValue dictionary = values.ordered_dict();
    const auto no_state = [&](std::string_view module) {
      values.set(dictionary, format("{}._extra_state", module), values.none());
    };
    const bool engine = layout_.split().naming == MegatronNaming::kTransformerEngine;
    bool has_head = false;
    for (std::size_t i = 0; i < chunk.tensors.size(); ++i) {
      const ShardTensor& tensor = chunk.tensors[i];
      const std::string_view module = module_of(tensor.name);
      if (engine && tensor.name.ends_with("self_attention.linear_proj.weight"))
        no_state(format("{}.core_attention", module_of(module)));
      // BERT has parts behind its output layer; a tied one of other models may have no tensor at all.
      if (tensor.name == "binary_head.weight") has_head = false, no_state(kOutputModule);
      values.set(dictionary, tensor.name, file.tensor(tensor.shape, target_.dtype, weight_blocks(tensor)));
      const bool is_last = i + 1 == chunk.tensors.size() || module_of(chunk.tensors[i + 1].name) != module;
      if (!is_last) continue;
      for (const std::string_view stateful : kStatefulModules)
        if (module.ends_with(stateful)) no_state(module);
      if (module.ends_with("final_layernorm")) {
        has_head = true;
        if (engine) no_state(module);
      }
    }
    if (has_head) no_state(kOutputModule);
    return dictionary;
  }

  std::vector<ShardTensor> parameters() const {
    std::vector<ShardTensor> all;
    for (const ShardChunk& chunk : chunks_) all.insert(all.end(), chunk.tensors.begin(), chunk.tensors.end());
    return all;
  }

  static std::vector<ShardBlock> state_blocks(const ShardTensor& tensor, std::string_view suffix) {
    return with_suffix(tensor, suffix).blocks;
  }

  PickleValue plain_optimizer(FileValues& file) const {
    PickleArena& values = file.values();
    const std::vector<ShardTensor> all = parameters();
    const PickleValue states = values.dict(), groups = values.list(), masters = values.list();
    std::int64_t index = 0;
    for (const OptimizerGroup& group : optimizer_groups(all)) {
      const PickleValue entry = megatron_group(values, progress(), group.decays);
      const PickleValue indices = values.list(), of_group = values.list();
      for (const std::size_t i : group.parameters) {
        const PickleValue state = values.dict();
        values.set(state, "step", file.scalar(static_cast<float>(progress().adam->updates)));
        values.set(state, "exp_avg",
                   file.tensor(all[i].shape, FileDType::kF32, state_blocks(all[i], kFirstMoment)));
        values.set(state, "exp_avg_sq",
                   file.tensor(all[i].shape, FileDType::kF32, state_blocks(all[i], kSecondMoment)));
        values.set(states, values.integer(index), state);
        values.append(indices, values.integer(index));
        if (has_masters())
          values.append(of_group, file.tensor(all[i].shape, FileDType::kF32, master_blocks(all[i])));
        ++index;
      }
      values.set(entry, "params", indices);
      values.append(groups, entry);
      values.append(masters, of_group);
    }
    const PickleValue adam = values.dict();
    values.set(adam, "state", states);
    values.set(adam, "param_groups", groups);
    if (!has_masters()) return adam;
    const PickleValue optimizer = values.dict();
    values.set(optimizer, "optimizer", adam);
    add_loss_scale(file, optimizer);
    values.set(optimizer, "fp32_from_fp16_params", masters);
    return optimizer;
  }

  // For a training in fp16, whose scale starts to count anew.
  void add_loss_scale(FileValues& file, PickleValue optimizer) const {
    if (target_.dtype != FileDType::kF16 || !progress().loss_scale) return;
    PickleArena& values = file.values();
    const PickleValue scaler = values.dict();
    values.set(scaler, "scale", file.numbers({static_cast<float>(*progress().loss_scale)}));
    values.set(scaler, "growth_tracker", values.integer(0));
    values.set(scaler, "hysteresis_tracker", values.integer(kHysteresis));
    values.set(optimizer, "grad_scaler", scaler);
  }

  // What the rank's file has of a distributed optimizer.
  PickleValue groups_alone(FileValues& file) const {
    PickleArena& values = file.values();
    const PickleValue groups = values.list();
    for (const OptimizerGroup& group : optimizer_groups(parameters()))
      values.append(groups, megatron_group(values, progress(), group.decays));
    const PickleValue adam = values.dict(), optimizer = values.dict();
    values.set(adam, "param_groups", groups);
    values.set(optimizer, "optimizer", adam);
    add_loss_scale(file, optimizer);
    return optimizer;
  }

  PickleValue flat_buffer_dictionary(FileValues& file, std::size_t chunk) const {
    PickleArena& values = file.values();
    const std::vector<ShardTensor>& tensors = chunks_[chunk].tensors;
    // One data-parallel rank, and no buckets but that of tied embeddings: as `args` say.
    const FlatBuffer layout = flat_buffer(tensors, bucket_rules({}, layout_, place_, chunks_, chunk));
    const PickleValue buffer = values.dict();
    const auto add = [&](const char* key, auto&& blocks_of) {
      std::vector<ShardBlock> blocks;
      std::int64_t next = 0;
      const auto fill = [&](std::int64_t until) {  // with zeros
        if (until > next) blocks.push_back({.tensor = "", .block = {.rows = until - next, .columns = 1}});
        next = until;
      };
      for (std::size_t i = tensors.size(); i-- > 0;) {
        fill(layout.first[i]);
        for (ShardBlock& block : blocks_of(tensors[i])) blocks.push_back(std::move(block));
        next += tensors[i].shape.elements();
      }
      fill(layout.elements);
      values.set(buffer, key, file.tensor({layout.elements}, FileDType::kF32, std::move(blocks)));
    };
    add("param", [&](const ShardTensor& tensor) { return master_blocks(tensor); });
    add("exp_avg", [&](const ShardTensor& tensor) { return state_blocks(tensor, kFirstMoment); });
    add("exp_avg_sq", [&](const ShardTensor& tensor) { return state_blocks(tensor, kSecondMoment); });
    values.set(buffer, "numel_unpadded", values.integer(layout.elements));
    return buffer;
  }

  const WholeModel& model_;
  const ShardLayout& layout_;
  const MegatronTarget& target_;
  ShardPlace place_;
  std::vector<ShardChunk> chunks_;
  std::string folder_;
};

void require_optimizer(const WholeModel& model, const ShardLayout& layout) {
  if (!model.progress() || !model.progress()->adam)
    throw usage_error(format("{} has no state of an Adam optimizer", model.file()),
                      "convert the weights alone");
  const std::vector<ShardChunk> first = layout.rank({});
  for (const ShardTensor& tensor : first.front().tensors)
    for (const ShardBlock& block : tensor.blocks)
      for (const std::string_view suffix : {kFirstMoment, kSecondMoment})
        model.at(block.tensor + std::string(suffix));
}

}  // namespace

std::vector<TargetFile> legacy_files(const WholeModel& model, const ShardLayout& layout,
                                     const MegatronTarget& target) {
  if (target.optimizer) require_optimizer(model, layout);
  std::vector<TargetFile> files;
  for (std::int64_t pp = 0; pp < layout.split().pp; ++pp)
    for (std::int64_t tp = 0; tp < layout.split().tp; ++tp) {
      LegacyRankWriter rank(model, layout, target, {.tp = tp, .pp = pp});
      files.push_back(rank.rank_file());
      if (target.optimizer && target.distributed_optimizer) files.push_back(rank.optimizer_file());
    }
  return files;
}

}  // namespace nadi::inline files
