// Lines of text that end before column 100.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nadi {

// "label     word word word", continued below the first word, with a newline at the end. The words start at
// `column`, on the next line if the label reaches into it. A word is never broken and may hold spaces.
std::string labelled(std::string_view label, std::size_t column, const std::vector<std::string>& words);

// The words between spaces.
std::vector<std::string> words_of(std::string_view text);

std::string join(const std::vector<std::string_view>& texts, std::string_view separator);

}  // namespace nadi
