#include "nadi/megatron_checkpoint/torch_dist_chunks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/megatron_checkpoint/block_source.h"

namespace nadi::inline files {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kStatesToWrite{
    {{kFirstMoment, "exp_avg"}, {kSecondMoment, "exp_avg_sq"}, {kMasterWeights, "fp32_param"}}};

class ChunkPlanner {
 public:
  ChunkPlanner(const WholeModel& model, const TorchDistCut& cut)
      : model_(model), cut_(cut), loads_(static_cast<std::size_t>(cut.files), 0) {}

  void add_parameter(const ShardTensor& tensor) {
    add(tensor, tensor.name, cut_.dtype.value_or(dtype_of(tensor)), false);
  }

  void add_states(const ShardTensor& tensor) {
    for (const auto& [suffix, state] : kStatesToWrite) {
      const ShardTensor of_state = with_suffix(tensor, suffix);
      if (model_.find(of_state.blocks.front().tensor) == nullptr) continue;
      add(of_state, format("optimizer.state.{}.{}", state, tensor.name), dtype_of(of_state),
          cut_.distributed_optimizer);
    }
  }

  PlannedTensors planned;

 private:
  FileDType dtype_of(const ShardTensor& tensor) const {
    return model_.at(tensor.blocks.front().tensor).dtype;
  }

  void add(const ShardTensor& tensor, std::string name, FileDType dtype, bool flattened) {
    const Shape& shape = tensor.shape;
    // As matrices: of a stacked tensor one for each layer; a vector is a column.
    const bool stacked = is_stacked(tensor.name);
    const std::int64_t layers = stacked ? shape[0] : 1;
    const Shape of_layer = stacked ? shape.slice(1, shape.rank()) : shape;
    const std::int64_t columns = of_layer.rank() > 1 ? of_layer[-1] : 1;
    const std::int64_t rows = of_layer.elements() / columns;
    Shape stored;
    if (flattened) {
      for (int axis = 0; axis < shape.rank(); ++axis)
        stored = stored.append(stacked && axis == 0 ? layers : 1);
      stored = stored.append(of_layer.elements());
    }
    planned.tensors.push_back({.name = std::move(name), .dtype = dtype, .shape = shape, .flattened = stored});
    const std::int64_t most = std::max<std::int64_t>(1, cut_.largest_chunk / (columns * size_of(dtype)));
    for (std::int64_t layer = 0; layer < layers; ++layer)
      for (std::int64_t row = 0; row < rows; row += most)
        add_chunk(tensor, {.layer = layer,
                           .row = row,
                           .rows = std::min(most, rows - row),
                           .columns = columns,
                           .rows_of_layer = rows,
                           .stacked = stacked});
  }

  struct Slice {
    std::int64_t layer, row, rows, columns, rows_of_layer;
    bool stacked;
  };

  void add_chunk(const ShardTensor& tensor, const Slice& slice) {
    const PlannedTensor& of = planned.tensors.back();
    // cut_tensor() takes the last axis for columns; the rows of a stacked vector are the layers.
    const bool stacked_vector = slice.stacked && tensor.shape.rank() == 2;
    const TensorBlock part =
        stacked_vector
            ? TensorBlock{.row = slice.layer, .rows = 1, .column = slice.row, .columns = slice.rows}
            : TensorBlock{.row = slice.layer * slice.rows_of_layer + slice.row,
                          .rows = slice.rows,
                          .columns = slice.columns};
    TensorBox box;
    if (of.flattened.rank() > 0) {
      for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
        box.offsets = box.offsets.append(slice.stacked && axis == 0 ? slice.layer : 0);
        box.sizes = box.sizes.append(1);
      }
      box.offsets = box.offsets.append(slice.row * slice.columns);
      box.sizes = box.sizes.append(slice.rows * slice.columns);
    } else {
      if (slice.stacked) {
        box.offsets = box.offsets.append(slice.layer);
        box.sizes = box.sizes.append(1);
      }
      box.offsets = box.offsets.append(slice.row);
      box.sizes = box.sizes.append(slice.rows);
      if (tensor.shape.rank() - (slice.stacked ? 1 : 0) > 1) {
        box.offsets = box.offsets.append(0);
        box.sizes = box.sizes.append(slice.columns);
      }
    }
    const auto least = std::ranges::min_element(loads_);
    *least += slice.rows * slice.columns * size_of(of.dtype);
    planned.chunks.push_back({.tensor = planned.tensors.size() - 1,
                              .box = box,
                              .blocks = cut_tensor(tensor, part, box.sizes).blocks,
                              .file = static_cast<std::size_t>(least - loads_.begin())});
  }

  const WholeModel& model_;
  const TorchDistCut& cut_;
  std::vector<std::int64_t> loads_;  // bytes of each file
};

}  // namespace

bool is_stacked(const std::string& name) {
  return name.starts_with("decoder.layers.") || name.starts_with("encoder.layers.");
}

PlannedTensors torch_dist_chunks(const WholeModel& model, const ShardLayout& layout,
                                 const TorchDistCut& cut) {
  ChunkPlanner planner(model, cut);
  const std::vector<ShardTensor> tensors = layout.global();
  for (const ShardTensor& tensor : tensors) planner.add_parameter(tensor);
  if (cut.optimizer)
    for (const ShardTensor& tensor : tensors) planner.add_states(tensor);
  return std::move(planner.planned);
}

}  // namespace nadi::inline files
