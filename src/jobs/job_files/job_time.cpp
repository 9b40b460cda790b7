#include "nadi/job_files/job_time.h"

#include <cstdint>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/read_number.h"

namespace nadi::inline jobs {
namespace {

constexpr std::int64_t kMostSeconds = std::int64_t{10} * 366 * 24 * 3600;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  if (!read_number(text, value) || value < 0 || value > kMostSeconds) return std::nullopt;
  return value;
}

// "1:2:3" as numbers; nothing where one of them is none.
std::optional<std::vector<std::int64_t>> numbers_between_colons(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    const auto number = whole_number(text.substr(at, end - at));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    at = end + 1;
  }
  return numbers;
}

}  // namespace

std::optional<std::chrono::seconds> parse_job_time(std::string_view text) {
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto number = whole_number(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  const auto numbers = numbers_between_colons(text);
  if (!numbers || numbers->size() > 3) return std::nullopt;
  const auto at = [&](std::size_t i) { return i < numbers->size() ? (*numbers)[i] : 0; };
  // After days hours come first; without days, one number is minutes, two are minutes and seconds.
  const bool from_hours = dash != std::string_view::npos || numbers->size() == 3;
  const std::int64_t rest = from_hours ? at(0) * 3600 + at(1) * 60 + at(2) : at(0) * 60 + at(1);
  const std::int64_t seconds = days * 24 * 3600 + rest;
  if (days > kMostSeconds / (24 * 3600) || seconds < 1 || seconds > kMostSeconds) return std::nullopt;
  return std::chrono::seconds(seconds);
}

std::string job_time_text(std::chrono::seconds time) {
  const std::int64_t all = time.count(), days = all / (24 * 3600);
  const std::string clock = format("{}:{:02}:{:02}", all / 3600 % 24, all / 60 % 60, all % 60);
  return days == 0 ? clock : format("{}-{}", days, clock);
}

}  // namespace nadi::inline jobs
