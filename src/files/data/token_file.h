// Sequences of token ids from a JSON file: what other programs give a model, without a tokenizer.
//
//   read_token_sequences("ids.json", config.vocabulary)          // [[67, 113, 81], [5, 17]]
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// An array of arrays of ids, none of them empty. Error (input) with the place of what is something else, and
// of an id that is not below `vocabulary`.
std::vector<std::vector<TokenId>> read_token_sequences(const std::filesystem::path& path,
                                                       std::int64_t vocabulary);

}  // namespace nadi::inline files
