// Files that a command is given as words: a name, or a pattern in quotes, which the shell has left alone.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nadi {

// A pattern (*, ?, [...]) becomes the files that fit, in the order of the numbers in their names: run.2.et
// before run.10.et. Any other word is a file, and so is a pattern that is the name of one. Error (usage) when
// nothing fits.
std::vector<std::filesystem::path> expand_files(std::span<const std::string> words);

// The same of Chakra traces, of which a word may also be the start of their names: `out/run` stands for
// out/run.0.et, out/run.1.et and so on, and where there are none for out/run.et, which is that of one rank.
std::vector<std::filesystem::path> expand_traces(std::span<const std::string> words);

}  // namespace nadi
