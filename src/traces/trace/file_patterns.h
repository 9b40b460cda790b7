// Files given as words: a name, or a pattern that the shell did not expand.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nadi::inline traces {

// A pattern (*, ?, [...]) becomes the files that fit, in the order of the numbers in their names: run.2.et
// before run.10.et. Any other word is a file, and so is a pattern that is the name of one. Error (usage) when
// no file matches.
std::vector<std::filesystem::path> expand_files(std::span<const std::string> words);

// Whether files PREFIX.N.et of ranks exist, whatever their numbers, or PREFIX.et.
bool is_trace_prefix(const std::string& word);

// The same for Chakra traces. A word may also be a prefix: `out/run` stands for out/run.0.et, out/run.1.et
// and so on, or, without such files, for out/run.et, the trace of one rank.
std::vector<std::filesystem::path> expand_traces(std::span<const std::string> words);

}  // namespace nadi::inline traces
