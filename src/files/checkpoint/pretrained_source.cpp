#include "nadi/checkpoint/pretrained_source.h"

#include <algorithm>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/checkpoint/safetensors_reader.h"
#include "nadi/checkpoint/training_progress.h"
#include "nadi/checkpoint/whole_parameters.h"

namespace nadi::inline files {
namespace {

namespace fs = std::filesystem;

class PretrainedSource : public WholeModel {
 public:
  PretrainedSource(const fs::path& path, std::string_view model_type, Verify verify)
      : path_(path.string()), folder_(path, model_type, verify) {
    const std::vector<WantedTensor> parameters = whole_parameters(folder_.config());
    const PretrainedMatch match = folder_.match(parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) add(parameters[i].name, *match.tensors[i]);
    std::error_code ignored;
    if (fs::exists(path / kTrainingStateFile, ignored)) add_training_state(path, parameters);
    for (const WeightTensor* unused : match.unused_tensors) add(unused->name(), *unused);
  }

  const ModelConfig& config() const override { return folder_.config(); }
  std::span<const WholeTensor> tensors() const override { return tensors_; }
  const std::optional<TrainingProgress>& progress() const override { return progress_; }
  std::string kind() const override { return progress_ ? "checkpoint of Nadi" : "Hugging Face folder"; }

  std::string file() const override { return path_; }
  std::vector<std::string> notes() const override { return folder_.notes(); }
  const CheckedMemory* memory() const override { return &folder_.memory(); }

  std::vector<MappedPiece> pieces(const WholeTensor& tensor, const TensorBlock& block) const override {
    const auto number = static_cast<std::size_t>(&tensor - tensors_.data());
    check(number < tensors_.size(), "the tensor is one of this model's");
    check(block.row >= 0 && block.row + block.rows <= tensor.rows() && block.column >= 0 &&
              block.column + block.columns <= tensor.columns(),
          "the block lies within the tensor");
    const std::int64_t element = size_of(tensor.dtype), row = tensor.columns() * element;
    if (block.elements() == 0) return {};
    return {{.block = block,
             .data = stored_[number].mapped().data() + block.row * row + block.column * element,
             .row_stride = row,
             .column_stride = element}};
  }

 private:
  void add(const std::string& name, const WeightTensor& stored) {
    tensors_.push_back({.name = name,
                        .dtype = stored.dtype(),
                        .shape = stored.shape(),
                        .stored_rows = stored.shape().rank() > 0 ? stored.shape()[0] : 1,
                        .place = fs::path(stored.file()).filename().string()});
    stored_.push_back(stored);
  }

  void add_training_state(const fs::path& path, const std::vector<WantedTensor>& parameters) {
    training_.emplace(path / kTrainingTensorsFile);
    if (folder_.manifest() != nullptr) folder_.manifest()->watch(*training_, folder_.memory());
    progress_ = own_progress(read_training_state(path), *training_);
    const auto add_from = [&](const SafetensorsTensor& tensor) {
      add(tensor.name, weight_tensor(*training_, tensor));
    };
    std::vector<const SafetensorsTensor*> others;
    for (const SafetensorsTensor& tensor : training_->tensors()) others.push_back(&tensor);
    for (const std::string_view suffix : {kFirstMoment, kSecondMoment, kMasterWeights})
      for (const WantedTensor& parameter : parameters) {
        const SafetensorsTensor* state = training_->find(parameter.name + std::string(suffix));
        if (state == nullptr) continue;
        if (state->shape != parameter.shape)
          throw input_error({.file = training_->file()},
                            format("'{}' is {}, but the parameter {}", state->name, state->shape.to_string(),
                                   parameter.shape.to_string()));
        add_from(*state);
        std::erase(others, state);
      }
    for (const SafetensorsTensor* tensor : others) add_from(*tensor);
  }

  std::string path_;
  PretrainedFolder folder_;
  std::optional<SafetensorsReader> training_;
  std::vector<WholeTensor> tensors_;
  std::vector<WeightTensor> stored_;  // of each tensor
  std::optional<TrainingProgress> progress_;
};

}  // namespace

std::unique_ptr<WholeModel> open_pretrained(const fs::path& folder, std::string_view model_type,
                                            Verify verify) {
  return std::make_unique<PretrainedSource>(folder, model_type, verify);
}

}  // namespace nadi::inline files
