// A moment for people: "2022-07-02 03:04".
#pragma once

#include <chrono>
#include <string>

#include "nadi/base/format.h"

namespace nadi::inline jobs {

inline std::string spoken_date(std::chrono::sys_seconds moment) {
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(moment - day).count();
  return format("{:04}-{:02}-{:02} {:02}:{:02}", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), minutes / 60,
                minutes % 60);
}

}  // namespace nadi::inline jobs
