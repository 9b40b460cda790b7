// SHA-256 (FIPS 180-4), for tests that compare bytes with published hashes.
//
//   EXPECT_EQ(sha256_hex(bytes).substr(0, 16), "203f120dce56d1fc");
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace nadi {

std::string sha256_hex(std::span<const std::byte> bytes);  // 64 digits, lower case

}  // namespace nadi
