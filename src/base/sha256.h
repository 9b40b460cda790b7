// SHA-256 (FIPS 180-4), for comparing bytes with published hashes.
//
//   if (sha256_hex(bytes) != published) ...
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace nadi {

std::string sha256_hex(std::span<const std::byte> bytes);  // 64 digits, lower case

}  // namespace nadi
