// Megatron's way to name a tokenizer: --tokenizer-type with --vocab-file, --merge-file or --tokenizer-model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nadi/command_line/flags.h"

namespace nadi::inline files {
class Tokenizer;
}  // namespace nadi::inline files

namespace nadi::inline show {

std::vector<FlagSpec> megatron_tokenizer_flags();

// What the flags say about the tokenizer.
struct MegatronTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr means none was named
  std::string name = {};                 // where it comes from
  bool none_wanted = false;              // NullTokenizer: the data is tokens already
  bool adds_special_tokens = false;      // Megatron's puts those that begin and end a text around it
  std::vector<std::string> notes = {};   // files that were given and do not go with the type
};

// Without --tokenizer-type, a vocabulary with merges is GPT-2's, one alone BERT's. Error (usage) for files
// that are missing; Error (input) for what is wrong in them.
MegatronTokenizer load_megatron_tokenizer(const Flags& flags);

}  // namespace nadi::inline show
