// What the tests of this folder share: files of tokenizers, and real vocabularies where they exist.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"
#include "nadi/text/tokenizer.h"

namespace nadi::inline files {

// Writes each text to the file of its name.
void write_files(const std::filesystem::path& folder,
                 const std::vector<std::pair<std::string, std::string>>& files);

// The folder of real files of other programs, if it is there.
std::optional<std::filesystem::path> real_data();

// GPT-2's and BERT's own vocabularies; nullptr without them. Loaded once.
const Tokenizer* real_gpt2();
const Tokenizer* real_bert();

// vocab.json of the 256 bytes in GPT-2's order, followed by the tokens given.
std::string byte_vocabulary_json(const std::vector<std::string>& further);

// Random text: characters of many scripts, accents, emoji, and white space of all kinds.
std::string random_text(std::uint32_t seed, std::size_t characters);

}  // namespace nadi::inline files
