// Between the variables of an engine and the files of a checkpoint.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/checkpoint/safetensors_writer.h"

namespace nadi {

class AtomicFolder;
class CpuEngine;
class Tokenizer;
struct ModelConfig;

// Reads every parameter that the engine has from a Hugging Face folder, converted to the engine's element
// types. Returns the names in the files that were not used. Error (input) when one is missing or has another
// shape; nothing is changed then.
std::vector<std::string> load_weights(CpuEngine& engine, const std::filesystem::path& folder);

// Reads what a training state's tensors file holds: optimizer state and the loss scale. Error (input) when
// one is missing or has another shape or type.
void load_training_tensors(CpuEngine& engine, const std::filesystem::path& checkpoint);

// config.json, model.safetensors and the tokenizer's files.
void write_model(AtomicFolder& folder, const CpuEngine& engine, const ModelConfig& config,
                 const Tokenizer& tokenizer);

// Everything that continuing needs besides the parameters. The bytes are the engine's own.
std::vector<TensorToWrite> training_tensors(const CpuEngine& engine);

}  // namespace nadi
