// A checkpoint of any format as stored tensors: the whole model that open_checkpoint() makes of it.
#pragma once

#include <filesystem>
#include <memory>

#include "nadi/checkpoint_inspection/stored_tensors.h"

namespace nadi::inline files {

// Whether the folder is a checkpoint of a format and a model that Nadi knows. Error (input) where it seems to
// be one and is damaged.
bool is_whole_checkpoint(const std::filesystem::path& folder);

std::unique_ptr<StoredTensors> open_whole_checkpoint(const std::filesystem::path& folder,
                                                     Verify verify = Verify::kYes);

}  // namespace nadi::inline files
