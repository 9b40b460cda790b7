#include "nadi/megatron_checkpoint/torch_dist_metadata.h"

#include <limits>
#include <map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/torch_file/pickle_machine.h"
#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline files {
namespace {

// Where a chunk is, by the name of its tensor and its offsets; an object has none.
using ChunkPlaces = std::map<std::pair<std::string, std::vector<std::int64_t>>, TorchDistPlace>;

constexpr std::string_view kOptimizerTensors = "optimizer.state.";
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

// Extents whose product does not overflow.
Shape shape_from(PickleValue value) {
  const std::vector<std::int64_t> extents = value.as_int64s();
  if (extents.size() > Shape::kMaxRank)
    throw error_at(value,
                   format("a tensor of {} axes; at most {} are read", extents.size(), Shape::kMaxRank));
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0) throw error_at(value, format("a tensor with an extent of {}", extent));
    if (extent > 0 && elements > kMostElements / extent)
      throw error_at(value, "a tensor with more elements than any file has");
    elements *= std::max<std::int64_t>(extent, 1);
  }
  return Shape(extents);
}

TorchDistPlace place_from(PickleValue info) {
  TorchDistPlace place{.file = std::string(info.at("relative_path").as_text()),
                       .offset = info.at("offset").as_int64(),
                       .length = info.at("length").as_int64()};
  const bool leads_out = place.file.empty() || place.file == "." || place.file == ".." ||
                         place.file.find('/') != std::string::npos ||
                         place.file.find('\0') != std::string::npos;
  if (leads_out) throw error_at(info, format("'{}' is no name of a file in the folder", place.file));
  if (place.offset < 0 || place.length <= 0)
    throw error_at(info,
                   format("{} bytes from byte {} on are no place in a file", place.length, place.offset));
  if (const auto transforms = info.find("transform_descriptors"); transforms && !transforms->is_none())
    throw error_at(info, "the data is transformed (compressed or encrypted), which is not read");
  return place;
}

ChunkPlaces places_from(PickleValue storage_data) {
  ChunkPlaces places;
  for (const auto& [key, value] : storage_data.items()) {
    std::vector<std::int64_t> offsets;
    if (const auto offset = key.find("offset"); offset && !offset->is_none()) offsets = offset->as_int64s();
    std::string name(key.at("fqn").as_text());
    const auto [it, added] = places.try_emplace({name, offsets}, place_from(value));
    if (!added) throw error_at(storage_data, format("'{}' has two places for one chunk", name));
  }
  return places;
}

const TorchDistPlace& place_of(const ChunkPlaces& places, const std::string& name,
                               std::vector<std::int64_t> offsets, PickleValue at) {
  const auto found = places.find({name, std::move(offsets)});
  if (found == places.end())
    throw error_at(at, "there is a chunk that no file has: storage_data does not list it");
  return found->second;
}

void check_box(const TensorBox& box, const Shape& within, PickleValue at) {
  if (box.offsets.rank() != within.rank() || box.sizes.rank() != within.rank())
    throw error_at(at, format("a chunk {} at {} has another number of axes than its tensor {}",
                              box.sizes.to_string(), box.offsets.to_string(), within.to_string()));
  for (int axis = 0; axis < within.rank(); ++axis)
    if (box.sizes[axis] == 0 || box.offsets[axis] > within[axis] - box.sizes[axis])
      throw error_at(at, format("a chunk {} at {} is not inside its tensor {}", box.sizes.to_string(),
                                box.offsets.to_string(), within.to_string()));
}

// The shape before flattening: the axes of the grid, each a multiple of its number of parts.
Shape original_shape(PickleValue mcore, const Shape& stored) {
  const Shape shape = shape_from(mcore);
  bool fits = shape.rank() + 1 == stored.rank() && shape.rank() > 0 && shape.elements() == stored.elements();
  for (int axis = 0; fits && axis < shape.rank(); ++axis)
    fits = stored[axis] > 0 && shape[axis] % stored[axis] == 0;
  if (!fits)
    throw error_at(mcore,
                   format("{} is not the flattened form of {}", stored.to_string(), shape.to_string()));
  return shape;
}

// Says which shape a flattened tensor has in the model: Megatron's own entry, or, where a later PyTorch has
// dropped it, the parameter that the optimizer's tensor belongs to.
std::optional<PickleValue> shape_in_model(PickleValue root, const std::string& name, const Shape& stored) {
  if (const auto mcore = root.find("mcore_data"); mcore && !mcore->is_none())
    if (const auto entry = mcore->find(name))
      if (const auto shape = entry->find("nd_reformulated_orig_global_shape")) return shape;
  if (!name.starts_with(kOptimizerTensors)) return std::nullopt;
  const std::size_t dot = name.find('.', kOptimizerTensors.size());
  if (dot == std::string::npos) return std::nullopt;
  const auto parameter = root.at("state_dict_metadata").find(name.substr(dot + 1));
  const auto shape = parameter ? parameter->find("size") : std::nullopt;
  const bool is_longer = shape && shape->size() + 1 == static_cast<std::size_t>(stored.rank());
  return is_longer ? shape : std::nullopt;
}

TorchDistTensor tensor_from(std::string name, PickleValue value, PickleValue root,
                            const ChunkPlaces& places) {
  TorchDistTensor tensor{.name = std::move(name)};
  // TensorProperties: (dtype, layout, requires_grad, memory format, pinned).
  const auto properties = value.at("properties").state();
  if (!properties) throw error_at(value, "it has no properties");
  tensor.dtype =
      properties->is_dict() ? properties->at("dtype").as_dtype() : properties->element(0).as_dtype();
  tensor.shape = shape_from(value.at("size"));
  if (const auto original = shape_in_model(root, tensor.name, tensor.shape))
    tensor.flattened = std::exchange(tensor.shape, original_shape(*original, tensor.shape));
  const Shape& stored = tensor.is_flattened() ? tensor.flattened : tensor.shape;
  for (const PickleValue chunk : value.at("chunks").elements()) {
    TensorBox box{.offsets = shape_from(chunk.at("offsets")), .sizes = shape_from(chunk.at("sizes"))};
    check_box(box, stored, chunk);
    if (tensor.is_flattened() && box.sizes.elements(0, stored.rank() - 1) != 1)
      throw error_at(
          chunk, format("a chunk {} of a flattened tensor is more than one range", box.sizes.to_string()));
    const std::span<const std::int64_t> offsets = box.offsets.extents();
    const TorchDistPlace& place = place_of(places, tensor.name, {offsets.begin(), offsets.end()}, chunk);
    tensor.chunks.push_back({.box = box, .place = place});
  }
  return tensor;
}

}  // namespace

TorchDistMetadata read_torch_dist_metadata(const std::filesystem::path& folder) {
  const PickleDocument document = read_pickle_file(folder / kTorchDistMetadataFile, UnknownClasses::kKeep);
  const PickleValue root = document.root();
  if (!root.is_object()) throw error_at(root, "this is no metadata of torch.distributed.checkpoint");
  const ChunkPlaces places = places_from(root.at("storage_data"));
  TorchDistMetadata metadata;
  for (const auto& [key, value] : root.at("state_dict_metadata").items()) {
    std::string name(key.as_text());
    if (value.is_a("torch.distributed.checkpoint.metadata.BytesStorageMetadata")) {
      metadata.objects.push_back({.name = name, .place = place_of(places, name, {}, value)});
      continue;
    }
    if (!value.is_a("torch.distributed.checkpoint.metadata.TensorStorageMetadata"))
      throw error_at(value, format("'{}' is neither a tensor nor an object", name));
    metadata.tensors.push_back(tensor_from(std::move(name), value, root, places));
  }
  return metadata;
}

}  // namespace nadi::inline files
