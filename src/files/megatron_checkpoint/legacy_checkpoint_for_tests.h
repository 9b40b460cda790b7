// For tests: a legacy checkpoint on disk, written with the plain version of filling (shards_for_tests.h).
#pragma once

#include <filesystem>
#include <fstream>

#include "nadi/megatron_checkpoint/iteration_folder.h"
#include "nadi/megatron_checkpoint/legacy_writer.h"
#include "nadi/megatron_checkpoint/shards_for_tests.h"

namespace nadi::inline files {

// The split's rows of the vocabulary beyond those of the model are copies of its last.
inline void write_legacy_checkpoint(const WholeModel& model, const MegatronSplit& split,
                                    const MegatronTarget& target, const std::filesystem::path& folder) {
  const ShardLayout layout(model.config(), split);
  for (const TargetFile& file : legacy_files(model, layout, target)) {
    const std::filesystem::path path = folder / iteration_folder_name(target.iteration) / file.name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << file_bytes(model, file);
  }
  write_iteration_tracker(folder, target.iteration);
}

}  // namespace nadi::inline files
