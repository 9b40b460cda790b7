// For the tests of this folder: hand-made safetensors files, in a temporary folder for each test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "nadi/base/files_for_tests.h"

namespace nadi::inline files {

// A file with this header, padded with nothing, and this data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>((static_cast<std::uint64_t>(header.size()) >> shift) & 0xff);
  return bytes + header + data;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace nadi::inline files
