// Pieces of lines of logs: labels, numbers, dates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/base/ascii.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {

inline std::string_view trimmed_text(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_space(text[begin])) ++begin;
  while (end > begin && is_space(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

// Without what launchers put in front of a line: "3: " (srun -l), "[rank3]: " and "[default0]:" (torchrun).
// The rest keeps its indentation.
inline std::string_view without_label(std::string_view text) {
  std::size_t at = 0;
  if (text.starts_with("[rank") || text.starts_with("[default")) {
    const std::size_t close = text.find("]:");
    if (close == std::string_view::npos || close > 16) return text;
    at = close + 2;
  } else {
    while (at < text.size() && text[at] == ' ') ++at;
    const std::size_t digits = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == digits || at >= text.size() || text[at] != ':' || (at + 1 < text.size() && text[at + 1] != ' '))
      return text;
    ++at;
  }
  if (at < text.size() && text[at] == ' ') ++at;
  return text.substr(at);
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  text = trimmed_text(text);
  // Nearly all are short and whole: up to seven digits are exact in every type.
  constexpr std::size_t kShort = 7;
  if (!text.empty() && text.size() <= kShort) {
    std::int32_t whole = 0;
    std::size_t at = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) whole = whole * 10 + (text[at] - '0');
    if (at == text.size()) return static_cast<Number>(whole);
  }
  Number value{};
  if (!read_number(text, value)) return std::nullopt;
  return value;
}

// "2026-01-31 09:05:00" and "Sat Jan 31 09:05:00 2026" (anywhere in the text) as seconds since 1970, taken as
// UTC.
std::optional<std::int64_t> parse_log_date(std::string_view text);
std::optional<std::int64_t> find_spoken_date(std::string_view text);

}  // namespace nadi::inline jobs
