// How many tokens a tokenizer has, and which files it is: what Megatron's vocabulary is padded by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace nadi::inline files {

// Counts a folder with tokenizer.json, vocab.json, vocab.txt or tokenizer.model (in this order), or of such a
// file. Of a tokenizer.json, tokens and added tokens are counted whatever kind of tokenizer it is. Error
// (input) where there is none, or a file is damaged.
std::int64_t tokenizer_size(const std::filesystem::path& path);

// The files in a folder that belong to a tokenizer, by Hugging Face's names, sorted. None where there is no
// such folder.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& folder);

}  // namespace nadi::inline files
