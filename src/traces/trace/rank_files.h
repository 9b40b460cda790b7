// Which files belong to one run, and the rank of each.
//
// The rank of a file is the one in its metadata (`rank`, an integer), else the number in its name:
// "run.3.et", "run_3.et" or "run_rank3.et", with more endings or without. Files whose names differ only
// in this number belong to one run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace nadi::inline traces {

struct GlobalMetadata;

struct RankFileName {
  std::string run;                        // the path without the number: what files of one run share
  std::optional<std::int64_t> rank = {};  // the number
  std::filesystem::path groups_file;      // where `nadi trace` puts the process groups: "run.groups.json"
};

RankFileName parse_rank_file_name(const std::filesystem::path& path);

// What the metadata says.
std::optional<std::int64_t> rank_of(const GlobalMetadata& metadata);

}  // namespace nadi::inline traces
