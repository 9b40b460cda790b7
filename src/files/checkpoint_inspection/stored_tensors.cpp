#include "nadi/checkpoint_inspection/stored_tensors.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/read_error.h"
#include "nadi/checkpoint_inspection/weight_files.h"
#include "nadi/checkpoint_inspection/whole_checkpoint.h"

namespace nadi::inline files {
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

std::unique_ptr<StoredTensors> open_folder(const fs::path& folder, const TensorReading& reading) {
  if (is_whole_checkpoint(folder)) return open_whole_checkpoint(folder, reading.verify);
  const std::vector<fs::path> files = weight_files_in(folder);
  if (files.empty())
    throw input_error({.file = folder.string()}, "the folder holds no weights",
                      "give a Hugging Face folder, one of Nadi's or of Megatron-LM's checkpoints, or a file");
  return open_weight_files(files, {"not a model that Nadi knows: tensors are shown as the files have them"},
                           reading);
}

Bytes bytes_in(const WholeTensor& tensor, std::int64_t rows) {
  return Bytes{rows * tensor.columns() * size_of(tensor.dtype)};
}

}  // namespace

std::unique_ptr<StoredTensors> open_stored_tensors(const fs::path& path, const TensorReading& reading) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) throw no_such_file(path.string());
  return fs::is_directory(path, unknown) ? open_folder(path, reading)
                                         : open_weight_files({path}, {}, reading);
}

Bytes verify_tensors(const StoredTensors& stored,
                     const std::function<void(Bytes done, Bytes total)>& progress) {
  constexpr std::int64_t kAtOnce = std::int64_t{4} << 20;
  Bytes total, done;
  for (const WholeTensor& tensor : stored.tensors()) total += bytes_in(tensor, tensor.rows());
  std::vector<std::byte> copy;
  for (const WholeTensor& tensor : stored.tensors()) {
    if (tensor.rows() == 0 || tensor.columns() == 0) continue;
    const std::int64_t rows = std::max<std::int64_t>(1, kAtOnce / bytes_in(tensor, 1).count());
    for (std::int64_t row = 0; row < tensor.rows(); row += rows) {
      const TensorBlock block{
          .row = row, .rows = std::min(rows, tensor.rows() - row), .columns = tensor.columns()};
      if (!stored.view(tensor, block)) {
        copy.resize(tensor.bytes_of(block));
        stored.read(tensor, block, copy);
      }
      done += bytes_in(tensor, block.rows);
      if (progress) progress(done, total);
    }
  }
  stored.check_rest();
  return stored.checked();
}

bool is_training_state(const WholeTensor& tensor) {
  return tensor.name.ends_with(kFirstMoment) || tensor.name.ends_with(kSecondMoment) ||
         tensor.name.ends_with(kMasterWeights) || fs::path(tensor.place).filename() == kTrainingTensorsFile;
}

}  // namespace nadi::inline files
