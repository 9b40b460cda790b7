// What a file in JSON is, told from its beginning: for commands that take any trace.
//
//   if (json_file_kind(path) == JsonFileKind::kPytorchHost) ...
//
// Looks at the first mebibyte, unpacked where the file is gzip or zstd, at names only. Damage does not matter
// unless it hides them, and the file may go on with anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace nadi {

enum class JsonFileKind : std::uint8_t {
  kKineto,       // traceEvents, or a list of events: PyTorch's profiler, Chrome, Perfetto
  kPytorchHost,  // PyTorch's execution trace: nodes with tensors
  kChakra,       // Chakra's messages in protobuf's JSON
  kNodeLink,     // a graph of nodes and links, as networkx writes it
  kOther,        // other JSON, or no JSON at all
};

// Error (input) when the file cannot be read.
JsonFileKind json_file_kind(const std::filesystem::path& path);
JsonFileKind json_text_kind(std::string_view bytes);

// What a compressed trace may unpack to, for reserving memory: more than is likely, since memory that is not
// touched costs nothing. 0 where the size of the file is not known.
std::uint64_t likely_unpacked_size(const std::filesystem::path& path);

}  // namespace nadi
