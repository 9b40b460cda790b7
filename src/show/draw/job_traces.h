// The traces that a job left in trace/ of its folder: those of one recording that go together.
//
//   const JobTraces traces = find_job_traces({"jobs/12"});
//   timeline_from_traces(view, traces.files, {});
//
// A run of Nadi leaves several forms of one recording there: a profile for each rank (run_kineto.0.json), a
// Chakra trace for each rank (run.0.et), and all ranks in one file. Profiles are taken where there are any,
// those of ranks before that of all; else Chakra traces, of several recordings the one with most ranks.
// Folders of one run have the ranks together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline show {

struct JobTraces {
  std::vector<std::filesystem::path> files = {};  // by rank
  std::vector<std::string> notes = {};            // what was left out
};

// Files are taken by rank until they have `most_bytes`, at least one. A folder without trace/ has none.
JobTraces find_job_traces(const std::vector<std::filesystem::path>& folders,
                          Bytes most_bytes = Bytes{std::int64_t{128} << 20});

}  // namespace nadi::inline show
