// Values as Slurm's commands print them.
//
//   expand_node_list("n[1-3,08],gpu0")            // n1 n2 n3 n08 gpu0
//   parse_slurm_state("CANCELLED by 1000")        // JobState::kCancelled
//   parse_slurm_exit("3:0")                       // exit code 3, signal 0
//
// Commands run with SLURM_TIME_FORMAT=%s, so that times are seconds since 1970 and no time zone is guessed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {

// The state by its first word, which may end in "+" where Slurm has cut it. kUnknown for what no version from
// 20.11 to 24.05 is known to say.
JobState parse_slurm_state(std::string_view text);

// Seconds since 1970. Nothing for "Unknown", "None", "N/A" and for any other text.
std::optional<JobTime> parse_slurm_time(std::string_view text);

// "1-02:03:04", "02:03:04", "03:04". Nothing for "UNLIMITED", "Partition_Limit", "INVALID", ...
std::optional<std::chrono::seconds> parse_slurm_duration(std::string_view text);

struct SlurmExit {
  int code = 0;
  int signal = 0;
  bool operator==(const SlurmExit&) const = default;
};
std::optional<SlurmExit> parse_slurm_exit(std::string_view text);

// The most names that a list may have: what a damaged answer can make of a few bytes.
inline constexpr std::size_t kMostSlurmNodes = 1 << 17;

// In the order of the list. Empty for "", "(null)" and "None assigned"; nothing for a text that is no list,
// and for more than kMostSlurmNodes names.
std::optional<std::vector<std::string>> expand_node_list(std::string_view text);

// Parts of an id: "12", "12_3", "12_[4-9%2]", "12+1".
struct SlurmId {
  std::string job;        // digits: "12"
  std::string task = {};  // "3" or "[4-9%2]" of an array
  std::string part = {};  // "1" of a heterogeneous job
  bool operator==(const SlurmId&) const = default;
};
std::optional<SlurmId> parse_slurm_id(std::string_view text);

}  // namespace nadi::inline jobs
