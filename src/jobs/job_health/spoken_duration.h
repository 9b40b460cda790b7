// A span of time for people: "121 s", "12 min", "2 h 5 min", "3 d 4 h".
#pragma once

#include <chrono>
#include <string>

namespace nadi::inline jobs {

inline std::string spoken_duration(std::chrono::seconds time) {
  constexpr long kMinute = 60, kHour = 3600, kDay = 86400;
  const long seconds = static_cast<long>(time.count());
  const auto two = [](long large, const char* unit, long small, const char* small_unit) {
    return std::to_string(large) + unit + (small > 0 ? " " + std::to_string(small) + small_unit : "");
  };
  if (seconds < 5 * kMinute) return std::to_string(seconds) + " s";
  if (seconds < 2 * kHour) return std::to_string(seconds / kMinute) + " min";
  if (seconds < 2 * kDay) return two(seconds / kHour, " h", seconds % kHour / kMinute, " min");
  return two(seconds / kDay, " d", seconds % kDay / kHour, " h");
}

}  // namespace nadi::inline jobs
