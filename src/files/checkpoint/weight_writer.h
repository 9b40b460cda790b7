// Writes a file of weights in one of the formats that Hugging Face folders have (weight_file.h).
//
//   AtomicFile file(folder / entry_of(format).file, Overwrite::kAllow);
//   write_weights(file, format, tensors);
//   file.commit();
//
// Tensors are ordered as safetensors files have them, whatever order they are given in and whatever the
// format: the functions that hand over their bytes are called in this order.
#pragma once

#include <optional>
#include <vector>

#include "nadi/checkpoint/safetensors_writer.h"
#include "nadi/checkpoint/weight_file.h"

namespace nadi::inline files {

// Appends the whole file; the caller commits it. Returns the checksums of a safetensors file; a file of
// torch.save has them within. A file of torch.save holds an OrderedDict of tensors by name, each with a
// storage of its own.
std::optional<SafetensorsSums> write_weights(AtomicFile& file, WeightFormat format,
                                             std::vector<TensorToWrite> tensors);

}  // namespace nadi::inline files
