// What a file holds, looked at through gzip and zstd: base/file_kind.h for files that may be compressed.
//
//   if (content_kind(path) == FileKind::kPytorchHost) ...
#pragma once

#include <cstdint>
#include <filesystem>

#include "nadi/base/file_kind.h"

namespace nadi {

class ChunkedInput;

// Error (input) when the file cannot be opened or unpacked at all. Damage further on does not matter.
// kUnknown for pipes and devices, from which nothing is taken.
FileKind content_kind(const std::filesystem::path& path);

// Of what lies ahead in the input, which stays there. Looks at the first mebibyte.
FileKind content_kind(ChunkedInput& input);

// What a compressed trace may unpack to, for reserving memory: more than is likely, since memory that is not
// touched costs nothing. 0 where the size of the file is not known.
std::uint64_t likely_unpacked_size(const std::filesystem::path& path);

}  // namespace nadi
