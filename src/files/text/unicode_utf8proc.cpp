// unicode.h by utf8proc.

#include <utf8proc.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "nadi/base/error.h"
#include "nadi/text/unicode.h"
#include "nadi/text/utf8.h"

namespace nadi::inline files {
namespace {

constexpr char32_t kCodePoints = 0x110000;

// The property White_Space has 25 characters and is not among utf8proc's; all but the controls are the
// category Z.
bool is_space(char32_t character, utf8proc_category_t category) {
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP || (character >= '\t' && character <= '\r') || character == 0x85;
}

bool is_ascii_punctuation(char32_t character) {
  return (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
         (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
}

// As in Hugging Face's tokenizers. Extension E begins at U+2B820, and not at U+2B920 as it stands there; its
// first 256 characters are treated as those tokenizers treat them.
bool is_ideograph(char32_t character) {
  const auto within = [&](char32_t low, char32_t high) { return character >= low && character <= high; };
  return within(0x4E00, 0x9FFF) || within(0x3400, 0x4DBF) || within(0x20000, 0x2A6DF) ||
         within(0x2A700, 0x2B73F) || within(0x2B740, 0x2B81F) || within(0x2B920, 0x2CEAF) ||
         within(0xF900, 0xFAFF) || within(0x2F800, 0x2FA1F);
}

std::uint8_t classes_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
      return kControl;
    case UTF8PROC_CATEGORY_MN:
      return kNonspacingMark;
    default:  // another library's list: symbols, spaces, other marks, and what is not assigned
      return 0;
  }
}

std::uint8_t classes_of(char32_t character) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  std::uint8_t classes = classes_of_category(category);
  if (is_space(character, category)) classes |= kSpace;
  if (character == '\r' || character == '\n') classes |= kLineBreak;
  if (is_ascii_punctuation(character)) classes |= kPunctuation;
  if (is_ideograph(character)) classes |= kIdeograph;
  return classes;
}

CharacterTable make_table() {
  std::vector<std::uint8_t> block_of;
  std::vector<CharacterTable::Block> blocks;
  std::map<CharacterTable::Block, std::uint8_t> known;
  for (char32_t first = 0; first < kCodePoints; first += 256) {
    CharacterTable::Block block;
    for (char32_t i = 0; i < 256; ++i) block[i] = classes_of(first + i);
    const auto [entry, is_new] = known.emplace(block, static_cast<std::uint8_t>(blocks.size()));
    if (is_new) {
      check(blocks.size() < 256, "more kinds of blocks than a byte can number");
      blocks.push_back(block);
    }
    block_of.push_back(entry->second);
  }
  return {std::move(block_of), std::move(blocks)};
}

// A normal form of a valid text.
std::string mapped(std::string_view text, utf8proc_option_t form) {
  utf8proc_uint8_t* result = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                               static_cast<utf8proc_ssize_t>(text.size()), &result,
                                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
  check(length >= 0, "utf8proc refused a text that is valid UTF-8");
  return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(length)};
}

}  // namespace

const CharacterTable& character_table() {
  static const CharacterTable table = make_table();
  return table;
}

std::string decompose(std::string_view text) {
  return mapped(text, UTF8PROC_DECOMPOSE);
}

std::string compose(std::string_view text) {
  return mapped(text, UTF8PROC_COMPOSE);
}

void append_lower(char32_t character, std::string& text) {
  constexpr char32_t kCapitalIWithDot = 0x130;  // the one character whose lower case is two
  constexpr char32_t kCombiningDot = 0x307;
  if (character == kCapitalIWithDot) {
    text += 'i';
    append_utf8(kCombiningDot, text);
    return;
  }
  append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))), text);
}

}  // namespace nadi::inline files
