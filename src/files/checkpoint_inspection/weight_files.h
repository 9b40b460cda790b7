// Tensors of files that stand for themselves: one safetensors or torch.save file, or those of a folder whose
// model Nadi does not know. Files are mapped; opening reads headers and pickles alone.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "nadi/checkpoint_inspection/stored_tensors.h"

namespace nadi::inline files {

// Error (input) for a file of another kind, and for two tensors of the same name.
std::unique_ptr<StoredTensors> open_weight_files(const std::vector<std::filesystem::path>& files,
                                                 std::vector<std::string> notes = {},
                                                 const TensorReading& reading = {});

}  // namespace nadi::inline files
