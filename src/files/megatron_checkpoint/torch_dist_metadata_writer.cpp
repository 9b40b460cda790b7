#include <map>

#include "nadi/megatron_checkpoint/torch_dist_metadata.h"
#include "nadi/torch_file/pickle_arena.h"
#include "nadi/torch_file/pickle_writer.h"

namespace nadi::inline files {
namespace {

constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";

// Builds the objects that PyTorch unpickles.
class MetadataPickle {
 public:
  PickleValue made(const TorchDistMetadata& metadata) {
    const PickleValue root = object("Metadata"), tensors = values_.dict(), places = values_.dict(),
                      mcore = values_.dict();
    for (const TorchDistTensor& tensor : metadata.tensors) {
      values_.set(tensors, tensor.name, tensor_entry(tensor));
      for (const TorchDistChunk& chunk : tensor.chunks)
        values_.set(places, index(tensor.name, &chunk.box.offsets), place(chunk.place));
      const PickleValue of_megatron = values_.dict();
      if (tensor.is_flattened())
        values_.set(of_megatron, "nd_reformulated_orig_global_shape", tuple(tensor.shape));
      values_.set(mcore, tensor.name, of_megatron);
    }
    for (const TorchDistObject& entry : metadata.objects) {
      values_.set(tensors, entry.name, object("BytesStorageMetadata"));
      values_.set(places, index(entry.name, nullptr), place(entry.place));
    }
    values_.set_attribute(root, "state_dict_metadata", tensors);
    values_.set_attribute(root, "planner_data", values_.none());
    values_.set_attribute(root, "storage_data", places);
    values_.set_attribute(root, "storage_meta", values_.none());
    values_.set_attribute(root, "version", values_.text("1.0.0"));
    values_.set_attribute(root, "mcore_data", mcore);
    return root;
  }

 private:
  PickleValue object(std::string_view name) { return values_.new_object({kModule, name}, values_.tuple({})); }
  PickleValue size(const Shape& shape) { return values_.size(shape.extents()); }
  PickleValue tuple(const Shape& shape) {
    std::vector<PickleValue> extents;
    for (const std::int64_t extent : shape.extents()) extents.push_back(values_.integer(extent));
    return values_.tuple(extents);
  }

  PickleValue tensor_entry(const TorchDistTensor& tensor) {
    const PickleValue entry = object("TensorStorageMetadata"), chunks = values_.list();
    for (const TorchDistChunk& chunk : tensor.chunks) {
      const PickleValue box = object("ChunkStorageMetadata");
      values_.set_attribute(box, "offsets", size(chunk.box.offsets));
      values_.set_attribute(box, "sizes", size(chunk.box.sizes));
      values_.append(chunks, box);
    }
    values_.set_attribute(entry, "properties", properties(tensor.dtype));
    values_.set_attribute(entry, "size", size(tensor.is_flattened() ? tensor.flattened : tensor.shape));
    values_.set_attribute(entry, "chunks", chunks);
    return entry;
  }

  // Strided, without a gradient, contiguous, not pinned. One object for each type.
  PickleValue properties(FileDType dtype) {
    if (const auto found = properties_.find(dtype); found != properties_.end()) return found->second;
    const PickleValue made = object("TensorProperties");
    const PickleValue layout = values_.object({"torch.serialization", "_get_layout"},
                                              values_.tuple({values_.text("torch.strided")}));
    constexpr std::int64_t kContiguous = 0;
    const PickleValue memory =
        values_.object({kModule, "_MEM_FORMAT_ENCODING"}, values_.tuple({values_.integer(kContiguous)}));
    values_.set_state(made, values_.tuple({values_.dtype(dtype), layout, values_.boolean(false), memory,
                                           values_.boolean(false)}));
    return properties_.emplace(dtype, made).first->second;
  }

  PickleValue index(const std::string& name, const Shape* offsets) {
    const PickleValue made = object("MetadataIndex");
    values_.set_attribute(made, "fqn", values_.text(name));
    values_.set_attribute(made, "index", values_.none());
    if (offsets != nullptr) values_.set_attribute(made, "offset", size(*offsets));
    return made;
  }

  PickleValue place(const TorchDistPlace& place) {
    const PickleValue made =
        values_.new_object({"torch.distributed.checkpoint.filesystem", "_StorageInfo"}, values_.tuple({}));
    values_.set_attribute(made, "relative_path", values_.text(place.file));
    values_.set_attribute(made, "offset", values_.integer(place.offset));
    values_.set_attribute(made, "length", values_.integer(place.length));
    return made;
  }

  PickleArena values_;
  std::map<FileDType, PickleValue> properties_;
};

}  // namespace

std::string torch_dist_metadata_pickle(const TorchDistMetadata& metadata) {
  MetadataPickle pickle;
  return write_pickle(pickle.made(metadata)).bytes;
}

}  // namespace nadi::inline files
