// Writes a safetensors file (safetensors_header.h) without holding more of it than its header.
//
//   AtomicFile file("model.safetensors", Overwrite::kAllow);
//   write_safetensors(file, {{.name = "wte.weight", .dtype = FileDType::kF32, .shape = {50257, 768},
//                             .bytes = std::as_bytes(std::span(wte))},
//                            {.name = "wpe.weight", .dtype = FileDType::kF32, .shape = {1024, 768},
//                             .pieces = [&](const TensorSink& sink) { copy_from_device(wpe, sink); }}});
//   file.commit();
//
// The bytes are those of the safetensors library: tensors ordered by type, widest first, then by name, and
// the header padded with spaces, so that every tensor is aligned. The same tensors give the same bytes,
// whatever order they are given in.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/checkpoint/checksum_manifest.h"
#include "nadi/graph/file_dtype.h"
#include "nadi/graph/shape.h"

namespace nadi::inline ground {
class AtomicFile;
}  // namespace nadi::inline ground

namespace nadi::inline files {

// Takes the next bytes of a tensor. Pieces of a megabyte or more are best.
using TensorSink = std::function<void(std::span<const std::byte>)>;

struct TensorToWrite {
  std::string name;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};
  // Either all bytes, little-endian and row by row, or a function that hands them over piece by piece.
  std::span<const std::byte> bytes = {};
  std::function<void(const TensorSink&)> pieces = {};
};

// The order of tensors in a file: by type, widest first, then by name.
inline bool comes_first_in_safetensors(const TensorToWrite& a, const TensorToWrite& b) {
  return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
}

// The metadata that transformers requires in a file of PyTorch weights.
inline const std::map<std::string, std::string> kPyTorchMetadata{{"format", "pt"}};

// The file up to the first byte of data: the length of the header and the header. `tensors` are brought into
// the order of their data, each of which follows the one before without a gap. For those who write the data
// themselves.
std::string safetensors_head(std::vector<TensorToWrite>& tensors,
                             const std::map<std::string, std::string>& metadata = kPyTorchMetadata);

// Appends the whole file; the caller commits it, and may keep the checksums beside it (checksum_manifest.h).
// Names that come twice and bytes that do not fill the shape are bugs of the caller.
SafetensorsSums write_safetensors(AtomicFile& file, std::vector<TensorToWrite> tensors,
                                  const std::map<std::string, std::string>& metadata = kPyTorchMetadata);

}  // namespace nadi::inline files
