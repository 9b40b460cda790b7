#include "nadi/checkpoint/weight_writer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/torch_file/pickle_arena.h"
#include "nadi/torch_file/torch_writer.h"

namespace nadi::inline files {
namespace {

void write_pytorch_weights(AtomicFile& file, std::vector<TensorToWrite> tensors) {
  std::ranges::sort(tensors, comes_first_in_safetensors);
  PickleArena values;
  const PickleValue root = values.ordered_dict();
  std::map<const TorchStorage*, const TensorToWrite*> sources;
  for (const TensorToWrite& tensor : tensors) {
    TorchStorage& storage = values.storage(tensor.dtype, tensor.shape.elements());
    sources.emplace(&storage, &tensor);
    check(!root.has(tensor.name), "two tensors of a file have the same name");
    values.set(root, tensor.name,
               values.tensor({.storage = &storage, .dtype = tensor.dtype, .shape = tensor.shape}));
  }
  write_torch_file(file, root, [&](const TorchStorage& storage, const StorageSink& sink) {
    const TensorToWrite& tensor = *sources.at(&storage);
    if (tensor.pieces) {
      tensor.pieces(sink);
    } else {
      sink(tensor.bytes);
    }
  });
}

}  // namespace

std::optional<SafetensorsSums> write_weights(AtomicFile& file, WeightFormat format,
                                             std::vector<TensorToWrite> tensors) {
  switch (format) {
    case WeightFormat::kSafetensors:
      return write_safetensors(file, std::move(tensors));
    case WeightFormat::kPytorch:
      write_pytorch_weights(file, std::move(tensors));
      return std::nullopt;
  }
  unreachable();
}

}  // namespace nadi::inline files
