// Where questions that write traces put them: PREFIX.<rank>.et for each rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"

namespace nadi::inline ask {

struct TraceFiles {
  std::string prefix = {};  // "out/step"
  Overwrite overwrite = Overwrite::kRefuse;
  std::optional<Bytes> most = {};  // bytes of all files together; else what is free on the disk

  std::filesystem::path file_of(std::int64_t rank) const;
};

// Error (usage) when there is no prefix, or one that is no start of file names; and for more files than a folder should
// hold. Said before the first is written.
void check_trace_files(const TraceFiles& files);
void check_file_count(std::int64_t files, const std::string& hint = {});

// How many bytes may be written, and in words why: "2 GB are free on the disk of out".
struct WritableBytes {
  Bytes most = {};
  std::string reason;
};
WritableBytes writable_bytes(const TraceFiles& files);

}  // namespace nadi::inline ask
