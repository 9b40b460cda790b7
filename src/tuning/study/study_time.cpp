#include "nadi/study/study_time.h"

#include <ctime>

#include "nadi/base/format.h"

namespace nadi::inline tuning {
namespace {

// Reads digits from the front of the text: exactly `count` of them.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool take_character(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Seconds since 1970 of a time in the zone of this machine.
std::int64_t local_seconds(const std::chrono::year_month_day& date, std::chrono::seconds of_day) {
  std::tm parts{};
  parts.tm_year = static_cast<int>(date.year()) - 1900;
  parts.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  parts.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.tm_hour = static_cast<int>(of_day.count() / 3600);
  parts.tm_min = static_cast<int>(of_day.count() / 60 % 60);
  parts.tm_sec = static_cast<int>(of_day.count() % 60);
  parts.tm_isdst = -1;  // the system knows
  return std::mktime(&parts);
}

}  // namespace

std::optional<StudyTime> parse_study_time(std::string_view text, TimeZoneKind zone) {
  const auto year = take_digits(text, 4);
  if (!year || *year < 1 || !take_character(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take_character(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !(take_character(text, ' ') || take_character(text, 'T'))) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take_character(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59 || !take_character(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *second > 59) return std::nullopt;
  std::int64_t microseconds = 0;
  if (take_character(text, '.')) {
    std::int64_t unit = 100000;
    const std::size_t before = text.size();
    while (const auto digit = take_digits(text, 1)) {
      microseconds += *digit * unit;
      unit /= 10;
    }
    if (text.size() == before) return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  const std::chrono::seconds of_day{*hour * 3600 + *minute * 60 + *second};
  std::optional<int> offset_seconds;
  if (take_character(text, 'Z')) {
    offset_seconds = 0;
  } else if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    const int sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
    const auto hours = take_digits(text, 2);
    if (!hours || !take_character(text, ':')) return std::nullopt;
    const auto minutes = take_digits(text, 2);
    if (!minutes) return std::nullopt;
    offset_seconds = sign * (*hours * 3600 + *minutes * 60);
  }
  if (!text.empty()) return std::nullopt;
  std::int64_t seconds = 0;
  if (!offset_seconds && zone == TimeZoneKind::kLocal) {
    seconds = local_seconds(date, of_day);
  } else {
    seconds = std::chrono::sys_seconds(std::chrono::sys_days(date) + of_day).time_since_epoch().count() -
              offset_seconds.value_or(0);
  }
  return StudyTime(std::chrono::seconds(seconds) + std::chrono::microseconds(microseconds));
}

std::string format_study_time(StudyTime time, TimeZoneKind zone, char separator) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm parts{};
  if (zone == TimeZoneKind::kLocal) {
    localtime_r(&seconds, &parts);
  } else {
    gmtime_r(&seconds, &parts);
  }
  return format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}.{:06}", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, separator, parts.tm_hour, parts.tm_min, parts.tm_sec, (time - whole).count());
}

StudyTime study_time_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace nadi::inline tuning
