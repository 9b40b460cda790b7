// The header of a safetensors file, completely checked before it is used.
//
// A file is: the length of the header (u64, little-endian), the header, the data. The header is JSON,
// {"wte.weight": {"dtype": "F32", "shape": [50257, 768], "data_offsets": [0, 154389504]}, ...,
//  "__metadata__": {"format": "pt"}}, with offsets counted from the end of the header. The tensors must cover
// the data without a hole and without an overlap, in any order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/file_dtype.h"
#include "nadi/graph/shape.h"

namespace nadi::inline files {

struct SafetensorsTensor {
  std::string name;
  FileDType dtype = FileDType::kF32;
  Shape shape = {};
  std::int64_t begin = 0;  // in bytes, from the start of the data
  std::int64_t end = 0;

  Bytes size() const { return Bytes{end - begin}; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors = {};  // in the order of the data
  std::map<std::string, std::string> metadata = {};
};

inline constexpr std::int64_t kSafetensorsLengthBytes = 8;          // of the length in front of the header
inline constexpr std::int64_t kMaxSafetensorsHeader = 100'000'000;  // as the safetensors library has it
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";  // not a name of a tensor

// Error (input) with the file and the byte or the tensor for a header that is not JSON or says something
// else than the format does, an unknown dtype, a shape of more than six axes, a shape that does not fit the
// bytes, a name that comes twice, tensors that overlap, leave a hole, run past `data_size` or end before it.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t data_size,
                                           const std::string& file);

// A name for messages: in quotes, with control characters escaped, and cut when it is long.
std::string quoted_name(std::string_view name);

}  // namespace nadi::inline files
