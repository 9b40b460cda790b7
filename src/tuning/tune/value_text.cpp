#include "nadi/tune/value_text.h"

#include <charconv>
#include <cmath>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline tuning {

std::optional<double> number_of_text(std::string_view text) {
  double number = 0;
  if (!read_number(text, number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

ParameterValue value_of_text(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return whole;
  if (const auto number = number_of_text(text)) return *number;
  return std::string(text);
}

std::optional<double> number_of(const ParameterValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

std::string shown_text(const ParameterValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? to_text(value) : format("{:.6g}", *number);
}

}  // namespace nadi::inline tuning
