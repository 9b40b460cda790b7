#include "nadi/megatron_checkpoint/torch_dist_files.h"

#include <array>
#include <memory>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/megatron_checkpoint/torch_dist_metadata.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi::inline files {
namespace {

// Names from the linear modules of a layer.
constexpr std::array<std::string_view, 4> kExtraStates{
    "self_attention.linear_proj", "self_attention.linear_qkv", "mlp.linear_fc1", "mlp.linear_fc2"};

std::string distcp_name(std::size_t file) {
  return format("__{}_0.distcp", file);
}

// One archive after another.
class ArchiveFile {
 public:
  // Returns where it is. `place`: what fills its only storage, if it has one; its offset is filled in.
  TorchDistPlace append(const std::string& file, const TorchLayout& layout,
                        std::optional<FilledPlace> place) {
    const TorchDistPlace result{.file = file, .offset = size_, .length = layout.file_size()};
    for (const FilePiece& piece : layout.head())
      target_.ready.push_back({.offset = size_ + piece.offset, .bytes = piece.bytes});
    if (place) {
      place->offset = size_ + layout.storages().front().offset;
      target_.places.push_back(std::move(*place));
    }
    archives_->push_back({.offset = size_, .has_place = place.has_value(), .layout = layout});
    size_ += layout.file_size();
    return result;
  }

  TargetFile finished(std::string name) && {
    target_.name = std::move(name);
    target_.size = Bytes{size_};
    target_.ending = [archives = archives_](std::span<const std::uint32_t> checksums) {
      std::vector<ReadyBytes> pieces;
      std::size_t next = 0;
      for (const Archive& archive : *archives) {
        const std::span<const std::uint32_t> of_this = checksums.subspan(next, archive.has_place ? 1 : 0);
        next += of_this.size();
        for (FilePiece& piece : archive.layout.ending(of_this))
          pieces.push_back({.offset = archive.offset + piece.offset, .bytes = std::move(piece.bytes)});
      }
      return pieces;
    };
    return std::move(target_);
  }

 private:
  struct Archive {
    std::int64_t offset = 0;
    bool has_place = false;
    TorchLayout layout;
  };
  TargetFile target_;
  std::int64_t size_ = 0;
  std::shared_ptr<std::vector<Archive>> archives_ = std::make_shared<std::vector<Archive>>();
};

TargetFile ready_file(std::string name, std::string bytes) {
  return {.name = std::move(name),
          .size = Bytes{static_cast<std::int64_t>(bytes.size())},
          .ready = {{.offset = 0, .bytes = std::move(bytes)}}};
}

// The optimizer without its tensors. Plain, with masters: under "optimizer", beside them; without: bare.
PickleValue common_optimizer(PickleArena& values, const MegatronTarget& target,
                             const TrainingProgress& progress) {
  const PickleValue groups = values.list();
  for (const bool decays : {true, false}) values.append(groups, megatron_group(values, progress, decays));
  const PickleValue inner = values.dict(), state = values.dict();
  if (!target.distributed_optimizer) {
    // Counts for all parameters; Megatron hands it on to each.
    values.set(state, "common_step",
               values.real(static_cast<double>(progress.adam ? progress.adam->updates : 0)));
    values.set(inner, "state", state);
  }
  values.set(inner, "param_groups", groups);
  const bool has_masters = target.dtype != FileDType::kF32;
  if (!has_masters && !target.distributed_optimizer) return inner;
  const PickleValue outer = values.dict();
  values.set(outer, "optimizer", inner);
  if (target.distributed_optimizer)
    values.set(outer, "param_state_sharding_type", values.text("fully_sharded_model_space"));
  return outer;
}

TargetFile common_file(const WholeModel& model, const ShardLayout& layout, const MegatronTarget& target) {
  PickleArena values;
  const PickleValue root = values.dict();
  const PickleValue args = megatron_args(values, layout, target, model.progress());
  values.set_attribute(args, "ckpt_fully_parallel_save", values.boolean(true));
  values.set(root, "args", args);
  values.set(root, "checkpoint_version", values.real(3.0));
  values.set(root, "iteration", values.integer(target.iteration));
  if (target.optimizer) {
    values.set(root, "optimizer", common_optimizer(values, target, *model.progress()));
    values.set(root, "opt_param_scheduler", megatron_scheduler(values, *model.progress()));
  }
  values.set(root, "num_floating_point_operations_so_far", values.integer(0));
  const TorchLayout archive(root, "common");
  std::string bytes(static_cast<std::size_t>(archive.file_size()), '\0');
  for (const std::vector<FilePiece>& pieces : {archive.head(), archive.ending({})})
    for (const FilePiece& piece : pieces)
      bytes.replace(static_cast<std::size_t>(piece.offset), piece.bytes.size(), piece.bytes);
  return ready_file("common.pt", std::move(bytes));
}

// torch.save([None]).
TorchLayout empty_extra_state() {
  PickleArena values;
  const PickleValue list = values.list();
  values.append(list, values.none());
  return TorchLayout(list);
}

TorchLayout tensor_archive(FileDType dtype, const Shape& shape) {
  PickleArena values;
  const TorchStorage& storage = values.storage(dtype, shape.elements());
  return TorchLayout(values.tensor({.storage = &storage, .dtype = dtype, .shape = shape}));
}

}  // namespace

std::vector<TargetFile> torch_dist_files(const WholeModel& model, const ShardLayout& layout,
                                         const MegatronTarget& target, const TorchDistCut& cut) {
  if (target.optimizer && !(model.progress() && model.progress()->adam))
    throw usage_error("the optimizer is to be written, and the source has none");
  TorchDistCut settled = cut;
  settled.optimizer = target.optimizer;
  settled.distributed_optimizer = target.distributed_optimizer;
  settled.dtype = target.dtype;
  const PlannedTensors planned = torch_dist_chunks(model, layout, settled);

  std::vector<ArchiveFile> files(static_cast<std::size_t>(settled.files));
  TorchDistMetadata metadata;
  for (const PlannedTensor& tensor : planned.tensors)
    metadata.tensors.push_back(
        {.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .flattened = tensor.flattened});
  for (const PlannedChunk& chunk : planned.chunks) {
    const PlannedTensor& tensor = planned.tensors[chunk.tensor];
    metadata.tensors[chunk.tensor].chunks.push_back(
        {.box = chunk.box,
         .place =
             files[chunk.file].append(distcp_name(chunk.file), tensor_archive(tensor.dtype, chunk.box.sizes),
                                      FilledPlace{.dtype = tensor.dtype, .blocks = chunk.blocks})});
  }
  const TorchLayout extra_state = empty_extra_state();
  const std::int64_t layers = layout.config().layers;
  const std::string_view blocks = layout.config().architecture->megatron->blocks;
  for (const std::string_view module : kExtraStates)
    for (std::int64_t layer = 0; layer < layers; ++layer)
      metadata.objects.push_back(
          {.name = format("{}.layers.{}._extra_state/shard_{}_{}", blocks, module, layer, layers),
           .place = files[0].append(distcp_name(0), extra_state, std::nullopt)});

  std::vector<TargetFile> targets;
  for (std::size_t i = 0; i < files.size(); ++i)
    targets.push_back(std::move(files[i]).finished(distcp_name(i)));
  targets.push_back(ready_file(kTorchDistMetadataFile, torch_dist_metadata_pickle(metadata)));
  targets.push_back(common_file(model, layout, target));
  targets.push_back(ready_file(
      "metadata.json",
      R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch", )"
      R"("common_backend_version": 1})"));
  return targets;
}

}  // namespace nadi::inline files
