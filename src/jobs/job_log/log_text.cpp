#include "nadi/job_log/log_text.h"

#include <array>
#include <chrono>

namespace nadi::inline jobs {
namespace {

std::optional<std::int64_t> seconds_of(int year, unsigned month, unsigned day, std::string_view clock) {
  if (clock.size() != 8 || clock[2] != ':' || clock[5] != ':') return std::nullopt;
  const auto hours = number_in<int>(clock.substr(0, 2)), minutes = number_in<int>(clock.substr(3, 2)),
             seconds = number_in<int>(clock.substr(6, 2));
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                         std::chrono::day{day}};
  if (!hours || !minutes || !seconds || !date.ok() || *hours > 23 || *minutes > 59 || *seconds > 60 ||
      *hours < 0 || *minutes < 0 || *seconds < 0)
    return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return ((days * 24 + *hours) * 60 + *minutes) * 60 + *seconds;
}

}  // namespace

std::optional<std::int64_t> parse_log_date(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T'))
    return std::nullopt;
  const auto year = number_in<int>(text.substr(0, 4));
  const auto month = number_in<unsigned>(text.substr(5, 2)), day = number_in<unsigned>(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  return seconds_of(*year, *month, *day, text.substr(11, 8));
}

std::optional<std::int64_t> find_spoken_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr std::size_t kLength = 20;  // "Jan 31 09:05:00 2026"
  for (unsigned month = 0; month < kMonths.size(); ++month)
    for (std::size_t at = text.find(kMonths[month]); at != std::string_view::npos;
         at = text.find(kMonths[month], at + 1)) {
      const std::string_view date = text.substr(at, kLength);
      if (date.size() < kLength) break;
      const auto day = number_in<unsigned>(date.substr(4, 2));
      const auto year = number_in<int>(date.substr(16, 4));
      if (!day || !year) continue;
      if (const auto seconds = seconds_of(*year, month + 1, *day, date.substr(7, 8))) return seconds;
    }
  return std::nullopt;
}

}  // namespace nadi::inline jobs
