// A Hugging Face folder as a whole model, and a checkpoint of ours, which is such a folder with training
// state beside the weights.
//
//   const auto model = open_pretrained("models/Llama-3.1-8B");
//   const auto model = open_pretrained("run/checkpoint-500");     // with moments, masters and progress
//
// Tensors that the model does not ask for (poolers, masks, counters of the training state) come last, under
// the names of the files. Errors are those of pretrained_folder.h and training_state.h.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "nadi/checkpoint/whole_model.h"

namespace nadi::inline files {

std::unique_ptr<WholeModel> open_pretrained(const std::filesystem::path& folder,
                                            std::string_view model_type = "", Verify verify = Verify::kYes);

}  // namespace nadi::inline files
