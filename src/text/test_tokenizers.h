// What the tests of this folder share: folders to write tokenizers to, and real vocabularies where there are
// some.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/text/tokenizer.h"

namespace nadi {

// An empty folder that goes when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view name, std::string_view contents) const;
  void write(const std::vector<std::pair<std::string, std::string>>& files) const;

 private:
  std::filesystem::path path_;
};

std::string read_whole_file(const std::filesystem::path& path);

// The folder of real files of other programs, if it is there.
std::optional<std::filesystem::path> real_data();

// GPT-2's and BERT's own vocabularies; nullptr without them. Loaded once.
const Tokenizer* real_gpt2();
const Tokenizer* real_bert();

// vocab.json of the 256 bytes in GPT-2's order, followed by the tokens given.
std::string byte_vocabulary_json(const std::vector<std::string>& further);

// Random text: characters of many scripts, accents, emoji, and white space of all kinds.
std::string random_text(std::uint32_t seed, std::size_t characters);

}  // namespace nadi
