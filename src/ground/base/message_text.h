// Texts from files, made fit for a message: foreign names hold control characters that would move the
// cursor, colour the terminal or break a line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nadi::inline ground {

// 'aten::mm' in single quotes. Control characters (also the C1 ones), quotes, backslashes and bytes that
// are not UTF-8 become \n, \t, \' or \x9b; of more than 80 characters the middle gives way to "…".
std::string quote_for_message(std::string_view text);

// Bytes of the UTF-8 character beyond ASCII at the start of `text`, which is not empty; 0 if there is none: a
// stray byte, an overlong form or a surrogate.
std::size_t utf8_character(std::string_view text);

}  // namespace nadi::inline ground
