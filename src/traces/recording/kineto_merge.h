// Merges the Kineto files of the ranks of one run, so that a viewer shows the ranks one below the other.
//
//   const std::vector<std::filesystem::path> ranks{"run_kineto.0.json", "run_kineto.1.json"};
//   merge_kineto_files(ranks, "run_kineto.json", Overwrite::kRefuse);
//
// For files of write_kineto() alone, which have an event per line, begin with the process of the rank and
// number events and launches by rank: lines are copied as they are, in the order of the files, in memory that
// does not grow with them. Only where two files have processes of the same number, from two machines for
// instance, the later one's becomes 2^22 + rank, and its threads likewise; a GPU that another rank has, too,
// becomes process 2^23 + rank, whose name says which rank and GPU it is. Files of older versions, whose
// processes are numbered by rank, are taken, too. The head is the first file's, but for `distributedInfo`,
// which has no rank and the process groups of all files. Times agree when the files were written on one clock
// (RunTraceOptions::clock_offset).
//
// The same files give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "nadi/base/atomic_file.h"

namespace nadi::inline traces {

// Returns the number of events. Error (input) with file and line where a file is not one of ours, is cut
// short, is of a run with one rank, of another run, or of a rank that was there before.
std::uint64_t merge_kineto_files(std::span<const std::filesystem::path> ranks,
                                 const std::filesystem::path& target, Overwrite overwrite);

}  // namespace nadi::inline traces
