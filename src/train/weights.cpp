#include "nadi/train/weights.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/checkpoint/atomic_folder.h"
#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/engine/cpu/cpu_engine.h"
#include "nadi/model/config_writer.h"
#include "nadi/text/tokenizer.h"

namespace nadi {
namespace {

bool is_training_state(const Tensor& tensor) {
  return tensor.role == Role::kOptimizerState || tensor.role == Role::kMetric;
}

}  // namespace

std::vector<std::string> load_weights(CpuEngine& engine, const std::filesystem::path& folder) {
  std::vector<WantedTensor> wanted;
  std::vector<VariableView> views;
  for (const VariableView& view : engine.variables()) {
    if (view.tensor->role != Role::kParameter) continue;
    wanted.push_back({.name = view.tensor->name, .shape = view.tensor->shape});
    views.push_back(view);
  }
  const PretrainedFolder files(folder);
  const PretrainedMatch match = files.match(wanted);
  for (std::size_t i = 0; i < views.size(); ++i) {
    match.tensors[i].read(views[i].tensor->dtype, views[i].bytes);
    engine.mark_initialized(views[i].tensor->name);
  }
  return match.unused;
}

void load_training_tensors(CpuEngine& engine, const std::filesystem::path& checkpoint) {
  const SafetensorsReader file(checkpoint / kTrainingTensorsFile);
  for (const VariableView& view : engine.variables()) {
    if (!is_training_state(*view.tensor)) continue;
    const SafetensorsTensor& saved = file.at(view.tensor->name);
    if (saved.shape != view.tensor->shape || saved.dtype != file_dtype(view.tensor->dtype))
      throw input_error({.file = file.file()},
                        format("'{}' is {} {} in the file and {} {} in this run", view.tensor->name,
                               to_string(saved.dtype), saved.shape.to_string(),
                               to_string(file_dtype(view.tensor->dtype)), view.tensor->shape.to_string()),
                        "continue with the model, --dtype and --optimizer that the run was started with");
  }
  for (const VariableView& view : engine.variables()) {
    if (!is_training_state(*view.tensor)) continue;
    file.read(view.tensor->name, view.tensor->dtype, view.bytes);
    engine.mark_initialized(view.tensor->name);
  }
}

void write_model(AtomicFolder& folder, const CpuEngine& engine, const ModelConfig& config,
                 const Tokenizer& tokenizer) {
  std::vector<TensorToWrite> tensors;
  DType dtype = DType::kF32;
  for (const VariableView& view : engine.variables()) {
    if (view.tensor->role != Role::kParameter) continue;
    dtype = view.tensor->dtype;
    tensors.push_back({.name = view.tensor->name,
                       .dtype = file_dtype(view.tensor->dtype),
                       .shape = view.tensor->shape,
                       .bytes = view.bytes});
  }
  const SpecialTokens& special = tokenizer.special_tokens();
  folder.write("config.json", config_json(config, {.dtype = dtype,
                                                   // GPT-2's one token serves as both.
                                                   .begin_token = special.begin ? special.begin : special.end,
                                                   .end_token = special.end,
                                                   .padding_token = special.padding}));
  for (const auto& [name, contents] : tokenizer.files()) folder.write(name, contents);
  folder.write("model.safetensors", [&](AtomicFile& file) { write_safetensors(file, std::move(tensors)); });
}

std::vector<TensorToWrite> training_tensors(const CpuEngine& engine) {
  std::vector<TensorToWrite> tensors;
  for (const VariableView& view : engine.variables())
    if (is_training_state(*view.tensor))
      tensors.push_back({.name = view.tensor->name,
                         .dtype = file_dtype(view.tensor->dtype),
                         .shape = view.tensor->shape,
                         .bytes = view.bytes});
  return tensors;
}

}  // namespace nadi
