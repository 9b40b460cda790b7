#include "nadi/run/weights.h"

#include <map>
#include <utility>

#include "nadi/base/atomic_folder.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/pretrained_folder.h"
#include "nadi/checkpoint/weight_writer.h"
#include "nadi/engine/engine.h"
#include "nadi/model/config_writer.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline runs {

std::vector<std::string> load_weights(Engine& engine, const std::filesystem::path& folder) {
  std::vector<WantedTensor> wanted;
  std::vector<const Tensor*> parameters;
  for (const Tensor* tensor : engine.variables()) {
    if (tensor->role != Role::kParameter) continue;
    wanted.push_back({.name = tensor->name, .shape = tensor->shape});
    parameters.push_back(tensor);
  }
  const PretrainedFolder files(folder);
  const PretrainedMatch match = files.match(wanted);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    bytes.resize(static_cast<std::size_t>(parameters[i]->size().count()));
    match.tensors[i]->read(parameters[i]->dtype, bytes);
    engine.write(parameters[i]->name, 0, bytes);
  }
  files.check_rest();
  return match.unused;
}

void write_model(AtomicFolder& folder, const Engine& engine, const ModelConfig& config,
                 const Tokenizer& tokenizer, WeightFormat saved_as) {
  std::vector<TensorToWrite> tensors;
  DType dtype = DType::kF32;
  for (const Tensor* tensor : engine.variables()) {
    if (tensor->role != Role::kParameter) continue;
    dtype = tensor->dtype;
    tensors.push_back({.name = tensor->name,
                       .dtype = file_dtype(tensor->dtype),
                       .shape = tensor->shape,
                       .pieces = [&engine, tensor](const TensorSink& sink) {
                         std::vector<std::byte> bytes(static_cast<std::size_t>(tensor->size().count()));
                         engine.read(tensor->name, 0, bytes);
                         sink(bytes);
                       }});
  }
  write_config_and_tokenizer(folder, config, dtype, &tokenizer);
  std::map<std::string, SafetensorsSums> sums;
  const std::string name(entry_of(saved_as).file);
  folder.write(name, [&](AtomicFile& file) {
    if (auto of_file = write_weights(file, saved_as, std::move(tensors)))
      sums.emplace(name, std::move(*of_file));
  });
  write_checksums(folder, sums);
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

}  // namespace nadi::inline runs
