// Long names, made short for messages and tables: the demangled name of a kernel can have 1,000 characters.
//
//   shorten_middle(name)        // at most 80 characters
//   shorten_middle(name, 40)    // "void at::native::elem…r<float>>(int, T)"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nadi::inline ground {

// Characters of a name in a message.
inline constexpr std::size_t kLongestName = 80;

// A text of at most `most` characters stays as it is. Of a longer one the middle gives way to "…", which
// counts as one character: names of kernels differ at their ends. UTF-8 characters stay whole; a byte that is
// not UTF-8 counts as one character.
std::string shorten_middle(std::string_view text, std::size_t most = kLongestName);

}  // namespace nadi::inline ground
