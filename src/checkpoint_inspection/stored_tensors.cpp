#include "nadi/checkpoint_inspection/stored_tensors.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/read_error.h"
#include "nadi/checkpoint_inspection/weight_files.h"
#include "nadi/checkpoint_inspection/whole_checkpoint.h"

namespace nadi {
namespace {

namespace fs = std::filesystem;

// Files of weights in a folder, by name. Hugging Face's folders have weights in either of two formats, and
// often in both: safetensors are taken first.
std::vector<fs::path> weight_files_in(const fs::path& folder) {
  std::vector<fs::path> safetensors, torch;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (!entry.is_regular_file()) continue;
    if (extension == ".safetensors") safetensors.push_back(entry.path());
    if (extension == ".bin" || extension == ".pt" || extension == ".pth") torch.push_back(entry.path());
  }
  std::vector<fs::path>& files = safetensors.empty() ? torch : safetensors;
  std::ranges::sort(files);
  return files;
}

std::unique_ptr<StoredTensors> open_folder(const fs::path& folder, const MemoryLimit& memory) {
  if (is_whole_checkpoint(folder)) return open_whole_checkpoint(folder);
  const std::vector<fs::path> files = weight_files_in(folder);
  if (files.empty())
    throw input_error({.file = folder.string()}, "the folder holds no weights",
                      "give a Hugging Face folder, one of Nadi's or of Megatron-LM's checkpoints, or a file");
  return open_weight_files(files, memory,
                           {"not a model that Nadi knows: tensors are shown as the files have them"});
}

}  // namespace

std::unique_ptr<StoredTensors> open_stored_tensors(const fs::path& path, const MemoryLimit& memory) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) throw no_such_file(path.string());
  return fs::is_directory(path, unknown) ? open_folder(path, memory) : open_weight_files({path}, memory);
}

bool is_training_state(const WholeTensor& tensor) {
  return tensor.name.ends_with(kFirstMoment) || tensor.name.ends_with(kSecondMoment) ||
         tensor.name.ends_with(kMasterWeights) || fs::path(tensor.place).filename() == kTrainingTensorsFile;
}

}  // namespace nadi
