// Bytes as text: Base64 of RFC 4648, with padding.
//
//   append_base64(out, "nadi");       // "bmFkaQ=="
#pragma once

#include <string>
#include <string_view>

namespace nadi::inline ground {

// Texts of several calls run together to that of all bytes where each but the last had a multiple of 3.
void append_base64(std::string& out, std::string_view bytes);

}  // namespace nadi::inline ground
