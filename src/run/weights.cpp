#include "nadi/run/weights.h"

#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/engine/cpu/cpu_engine.h"
#include "nadi/model/config_writer.h"
#include "nadi/text/tokenizer.h"

namespace nadi {

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
  write_config_and_tokenizer(folder, config, dtype, &tokenizer);
  folder.write("model.safetensors", [&](AtomicFile& file) { write_safetensors(file, std::move(tensors)); });
}

void write_config_and_tokenizer(AtomicFolder& folder, const ModelConfig& config, DType dtype,
                                const Tokenizer* tokenizer) {
  ConfigJsonOptions options{.dtype = dtype};
  if (tokenizer != nullptr) {
    const SpecialTokens& special = tokenizer->special_tokens();
    options.begin_token = special.begin ? special.begin : special.end;  // GPT-2's one token serves as both
    options.end_token = special.end;
    options.padding_token = special.padding;
  }
  folder.write("config.json", config_json(config, options));
  if (tokenizer == nullptr) return;
  for (const auto& [name, contents] : tokenizer->files()) folder.write(name, contents);
}

}  // namespace nadi
