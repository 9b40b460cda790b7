// What a file holds, compressed with gzip or zstd or not: base/file_kind.h for files that may be compressed.
//
//   if (content_kind(path) == FileKind::kPytorchHost) ...
#pragma once

#include <cstdint>
#include <filesystem>

#include "nadi/base/file_kind.h"

namespace nadi::inline ground {

class ChunkedInput;

// Error (input) when the file cannot be opened or unpacked at all. Damage further on does not matter.
// kUnknown for pipes and devices, from which nothing is taken.
FileKind content_kind(const std::filesystem::path& path);

// The kind of what lies ahead in the input. Looks at the first MiB and consumes nothing.
FileKind content_kind(ChunkedInput& input);

// An upper estimate of the unpacked size of a trace, for reserving memory: memory that is not touched costs
// nothing. 0 where the size of the file is not known.
std::uint64_t likely_unpacked_size(const std::filesystem::path& path);

}  // namespace nadi::inline ground
