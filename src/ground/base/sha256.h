// SHA-256 (FIPS 180-4), and by it HMAC (RFC 2104).
//
//   sha256_hex(bytes) == "203f120dce56d1fc..."             // are these the published bytes?
//   hmac_sha256_hex(token, challenge)                      // whoever can say this knows the token
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nadi::inline ground {

// 64 digits, lower case.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view message);

}  // namespace nadi::inline ground
