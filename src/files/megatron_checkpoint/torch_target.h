// A file of torch.save (torch_file/torch_writer.h) as a conversion writes it: the pickle is ready, and its
// storages are filled with blocks of the whole model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nadi/megatron_checkpoint/target_file.h"
#include "nadi/torch_file/pickle_value.h"

namespace nadi::inline files {

// What a storage holds: blocks, or bytes that are known.
struct StorageContent {
  FileDType dtype = FileDType::kF32;
  std::vector<ShardBlock> blocks = {};
  std::string bytes = {};  // where there are no blocks
};

// Every storage that the values reach has a content of its size. The values need not outlive the call.
// `archive` is the name of the folder within the archive.
TargetFile torch_target(std::string name, PickleValue root,
                        const std::map<const TorchStorage*, StorageContent>& contents,
                        const std::string& archive = "archive");

}  // namespace nadi::inline files
