// Writes the files of a conversion: blocks of the source are copied, by several threads, to their places.
//
//   AtomicFolder folder(target);
//   fill_files(model, files, folder, {.threads = 4, .progress = show});
//   check_files(model, files, folder.hidden_path(), {...});     // what is on the disk is what was meant
//   folder.commit();
//
// Memory: each thread holds three times kFillBytes (fill_schedule.h) at most, and of each open file 64 MiB
// wait in the page cache to be written (base/positioned_file.h). The source is read ahead of the threads.
//
// The bytes do not depend on the number of threads. The first error of any thread ends all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "nadi/base/units.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/megatron_checkpoint/target_file.h"

namespace nadi::inline ground {
class AtomicFolder;
}  // namespace nadi::inline ground

namespace nadi::inline files {

struct FillOptions {
  int threads = 1;
  // Called by the calling thread, several times a second; what it throws ends the work.
  std::function<void(Bytes done, Bytes total)> progress = {};
};

// Counts blocks, without ready bytes.
Bytes filled_bytes(std::span<const TargetFile> files);

// Returns the checksums of the safetensors files, by their names. At the end the source is checked against
// its own checksums as far as that was not done while it was read (WholeModel::check_rest()).
std::map<std::string, SafetensorsSums> fill_files(const WholeModel& model, std::span<const TargetFile> files,
                                                  AtomicFolder& folder, const FillOptions& options);

// Reads the files below `folder` again, from the disk where they were written to one, and compares them with
// the source. Error (environment) with file and byte for the first difference.
void check_files(const WholeModel& model, std::span<const TargetFile> files,
                 const std::filesystem::path& folder, const FillOptions& options);

}  // namespace nadi::inline files
