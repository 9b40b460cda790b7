// The lines of a text file of a tokenizer: vocab.txt, merges.txt.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nadi::inline files {

// Without their line ends (\n or \r\n), and without empty lines at the end. Limit: 64 MiB. Error (input): the
// file cannot be read, is too large, or is not UTF-8, with the line.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace nadi::inline files
