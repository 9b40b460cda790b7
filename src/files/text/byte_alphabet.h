// How byte-level vocabularies write bytes that are no text: each of the 256 bytes has a visible character.
// The printable ones of Latin-1 stand for themselves; the others, in order, are U+0100 and following, so that
// a space is written as "Ġ" (U+0120).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline files {

// The bytes in the order in which GPT-2 numbers them: first those that stand for themselves.
const std::array<std::uint8_t, 256>& byte_alphabet_order();

// " hello" -> "Ġhello".
std::string to_byte_alphabet(std::string_view bytes);

// "Ġhello" -> " hello"; nothing when there is a character of no byte. The text is valid UTF-8.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace nadi::inline files
