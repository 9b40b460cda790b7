// What Megatron's index maps for GPT (gpt_index.h) and for BERT (bert_index.h) have in common: names, seeds,
// and what to do about one that does not fit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace nadi::inline files {

class IndexedDataset;

// "{prefix}_{name}", beside the dataset or in `folder` where that is not empty.
std::filesystem::path index_map_path(const IndexedDataset& dataset, const std::filesystem::path& folder,
                                     const std::string& name);

// Error (usage) for one of more than 32 bits.
void check_index_map_seed(std::uint64_t seed);

// Writing next to the dataset may fail where its folder is not ours: adds what to do to the Error.
void with_cache_hint(const std::function<void()>& write);

// For a file that is there and does not fit.
inline constexpr const char* kOtherIndexHint =
    "it was made for another dataset or split, or is damaged: remove it, or choose another folder for the "
    "index maps";

}  // namespace nadi::inline files
