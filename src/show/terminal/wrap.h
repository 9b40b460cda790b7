// Lines of text that fit a width. Widths are counted in characters (UTF-8), colours take none.
//
// A word is never cut, with one exception: a word that is longer than a whole line is broken behind a '/',
// '-', '_', ',' or '|' where it has one, since a terminal would break it anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline show {

// Width of prose, where there is no terminal.
inline constexpr std::size_t kUsualWidth = 100;
// Below this no table is readable.
inline constexpr std::size_t kLeastWidth = 40;

// How many columns a text takes: code points, without escape codes for colours.
std::size_t columns_of(std::string_view text);

// "label     word word word", continued below the first word, with a newline at the end. The words start at
// `column`, on the next line if the label reaches into it. A word may hold spaces; where it is longer than a
// line, it is wrapped at them.
std::string labelled(std::string_view label, std::size_t column, const std::vector<std::string>& words,
                     std::size_t width = kUsualWidth);

// A line (without a newline) as lines of at most `width` columns, joined by newlines. It is continued below
// its text: behind the indentation, behind a label ("memory    ...", two spaces or more after the label), or
// behind "error: " and the like, where that leaves half of the width.
std::string wrapped_line(std::string_view line, std::size_t width);

// A line as far as its whole words go into `width` columns, with " ..." where something was left out.
std::string cut_line(std::string_view line, std::size_t width);

// A command as lines that can be copied into a shell: all but the last end in " \".
std::string wrapped_command(std::string_view command, std::size_t indent, std::size_t width);

// The words between spaces.
std::vector<std::string> words_of(std::string_view text);

std::string join(const std::vector<std::string_view>& texts, std::string_view separator);

}  // namespace nadi::inline show
