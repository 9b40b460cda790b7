// For tests: a whole model in memory, whose elements are counted from 0 in each tensor.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/half.h"
#include "nadi/checkpoint/whole_model.h"

namespace nadi::inline files {

class MemoryModel : public WholeModel {
 public:
  // The elements of a tensor are 0, 1, 2, ... in its type, f32 or bf16.
  void add(std::string name, FileDType dtype, Shape shape) {
    WholeTensor tensor{.name = std::move(name), .dtype = dtype, .shape = std::move(shape), .place = "memory"};
    tensor.stored_rows = tensor.rows();
    std::vector<std::byte> data(tensor.bytes_of(tensor.whole()));
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
      const auto value = static_cast<float>(i);
      const std::uint16_t half = to_bf16(value);
      const auto width = static_cast<std::size_t>(size_of(dtype));
      std::memcpy(data.data() + static_cast<std::size_t>(i) * width,
                  dtype == FileDType::kF32 ? static_cast<const void*>(&value) : &half, width);
    }
    data_.emplace(tensor.name, std::move(data));
    tensors_.push_back(std::move(tensor));
  }

  void set_config(ModelConfig config) { config_ = std::move(config); }

  // Whether a block is one piece; else each of its rows is one.
  bool views = true;

  const ModelConfig& config() const override { return config_; }
  std::span<const WholeTensor> tensors() const override { return tensors_; }
  std::vector<MappedPiece> pieces(const WholeTensor& tensor, const TensorBlock& block) const override {
    const std::int64_t width = size_of(tensor.dtype);
    const std::int64_t stride = tensor.columns() * width;
    const std::byte* data = data_.at(tensor.name).data() + block.row * stride + block.column * width;
    if (views) return {{.block = block, .data = data, .row_stride = stride, .column_stride = width}};
    std::vector<MappedPiece> rows;
    for (std::int64_t row = 0; row < block.rows; ++row)
      rows.push_back(
          {.block = {.row = block.row + row, .rows = 1, .column = block.column, .columns = block.columns},
           .data = data + row * stride,
           .row_stride = stride,
           .column_stride = width});
    return rows;
  }
  const std::optional<TrainingProgress>& progress() const override { return progress_; }
  std::string kind() const override { return "a model in memory"; }

 protected:
  std::string file() const override { return "memory"; }

 private:
  ModelConfig config_;
  std::vector<WholeTensor> tensors_;
  std::map<std::string, std::vector<std::byte>> data_;
  std::optional<TrainingProgress> progress_;
};

}  // namespace nadi::inline files
