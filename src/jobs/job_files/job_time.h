// Times of jobs as Slurm writes them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace nadi::inline jobs {

// "30" minutes, "5:30" minutes and seconds, "2:00:00", "1-12" days and hours, "1-12:30", "1-12:30:00".
// Nothing for anything else, for 0, and for more than ten years.
std::optional<std::chrono::seconds> parse_job_time(std::string_view text);

std::string job_time_text(std::chrono::seconds time);  // "1-12:30:00", "2:00:00"

}  // namespace nadi::inline jobs
