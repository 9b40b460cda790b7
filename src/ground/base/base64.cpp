#include "nadi/base/base64.h"

#include <cstddef>
#include <cstdint>

namespace nadi::inline ground {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(bytes[i]); };
  std::size_t end = out.size();
  out.resize(end + (bytes.size() + 2) / 3 * 4, '=');
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) out[end++] = kBase64Digits[group >> shift & 63];
  }
  if (i == bytes.size()) return;
  const bool two = i + 2 == bytes.size();
  const std::uint32_t group = byte(i) << 16 | (two ? byte(i + 1) << 8 : 0);
  out[end++] = kBase64Digits[group >> 18 & 63];
  out[end++] = kBase64Digits[group >> 12 & 63];
  if (two) out[end] = kBase64Digits[group >> 6 & 63];
}

}  // namespace nadi::inline ground
