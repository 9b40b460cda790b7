// What Unicode says about characters, as far as tokenizers ask: the one place that knows the library behind
// it (utf8proc). A build without that library still links; character_table() then throws Error (environment),
// and since every tokenizer holds one, none can be made.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nadi::inline files {

// Classes of characters. A character may be in several, or in none.
inline constexpr std::uint8_t kLetter = 1;           // \p{L}
inline constexpr std::uint8_t kNumber = 2;           // \p{N}: digits, Roman numerals, fractions
inline constexpr std::uint8_t kSpace = 4;            // White_Space, which is \s of the usual regex engines
inline constexpr std::uint8_t kLineBreak = 8;        // \r and \n only
inline constexpr std::uint8_t kPunctuation = 16;     // \p{P} and all of ASCII's, so $ + < = > ^ ` | ~, too
inline constexpr std::uint8_t kControl = 32;         // Cc, Cf, Co
inline constexpr std::uint8_t kNonspacingMark = 64;  // Mn: most accents, once they are taken off
inline constexpr std::uint8_t kIdeograph = 128;      // the blocks that BERT treats as words of one character

// The classes of every character, in two levels: blocks of 256 characters, each kind of block once.
class CharacterTable {
 public:
  using Block = std::array<std::uint8_t, 256>;
  CharacterTable(std::vector<std::uint8_t> block_of, std::vector<Block> blocks)
      : block_of_(std::move(block_of)), blocks_(std::move(blocks)) {}

  // Up to U+10FFFF.
  std::uint8_t operator[](char32_t character) const {
    return blocks_[block_of_[character >> 8]][character & 0xFF];
  }

 private:
  std::vector<std::uint8_t> block_of_;
  std::vector<Block> blocks_;
};

// Made on the first call, then constant.
const CharacterTable& character_table();

// The canonical decomposition (NFD) of a valid text.
std::string decompose(std::string_view text);

// The canonical composition (NFC) of a valid text.
std::string compose(std::string_view text);

// In lower case, each character for itself: a Greek sigma at the end of a word stays the common one.
void append_lower(char32_t character, std::string& text);

}  // namespace nadi::inline files
