// Numbers in texts, as std::from_chars knows them: no spaces, no plus, no locale.
//
//   std::int64_t count = 0;
//   if (!read_number(text, count) || count < 1) throw usage_error(format("'{}' is no count", text));
#pragma once

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace nadi::inline ground {

// Whether all of the text is a number that fits; `number` has its value then, and is left as it was otherwise.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  number = value;
  return true;
}

// Whether the text begins with a number that fits; `number` has its value then, and `text` what follows it. Both are left as
// they were otherwise.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  number = value;
  return true;
}

}  // namespace nadi::inline ground
