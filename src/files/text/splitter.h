// How a byte-level tokenizer cuts text into pieces before it merges bytes within them.
//
//   const char* at = text.data();
//   while (at != end) {
//     const char* const stop = splitter.piece_end(table, at, end);
//     use({at, stop});
//     at = stop;
//   }
//
// The originals are regular expressions, applied again and again where the last match ended. Here each is a
// function that reads every character once or twice; the tests hold it against the expression itself. Two
// programs may still differ on characters that entered Unicode between the versions that they know (here:
// utf8proc's).
#pragma once

#include <span>
#include <string_view>

namespace nadi::inline files {

class CharacterTable;

struct Splitter {
  std::string_view name;

  // The expressions that split as this function does, as tokenizer.json spells them. The first is the one
  // that is written.
  std::span<const std::string_view> patterns;

  // Where the piece that begins at `at` ends: behind `at`, at most at `end`. The text is valid UTF-8.
  const char* (*piece_end)(const CharacterTable& table, const char* at, const char* end);
};

const Splitter& gpt2_splitter();
const Splitter& llama3_splitter();
const Splitter& qwen2_splitter();

// By one of its expressions; nullptr when none has it.
const Splitter* find_splitter(std::string_view pattern);

}  // namespace nadi::inline files
