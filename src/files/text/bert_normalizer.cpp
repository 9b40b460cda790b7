// The steps in their order: clean, separate ideographs, decompose and drop accents, lower case. ASCII goes
// through the first and the last only; the others are applied to runs of characters beyond ASCII, which is
// the same, since no ASCII character decomposes and none is moved when marks are put in order.

#include "nadi/text/bert_normalizer.h"

namespace nadi::inline files {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

char ascii_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}

}  // namespace

std::string BertNormalizer::normalize(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  std::string foreign;  // the run so far
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const here = at;
    const char32_t character = next_character(at);
    const std::uint8_t classes = table_[character];
    if (options_.clean_text) {
      const bool kept_control = character == '\t' || character == '\n' || character == '\r';
      if (((classes & kControl) != 0 && !kept_control) || character == kReplacement) continue;
    }
    const bool becomes_space = options_.clean_text && (classes & kSpace) != 0;
    if (!is_ascii(*here) && !becomes_space) {
      const bool apart = options_.separate_ideographs && (classes & kIdeograph) != 0;
      if (apart) foreign += ' ';
      foreign.append(here, at);
      if (apart) foreign += ' ';
      continue;
    }
    append_foreign(foreign, out);
    foreign.clear();
    if (becomes_space) {
      out += ' ';
    } else {
      out += options_.lower_case ? ascii_lower(*here) : *here;
    }
  }
  append_foreign(foreign, out);
  return out;
}

void BertNormalizer::append_foreign(std::string_view run, std::string& out) const {
  if (run.empty()) return;
  std::string decomposed;
  if (strip_accents_) {
    decomposed = decompose(run);
    run = decomposed;
  }
  const char* at = run.data();
  const char* const end = at + run.size();
  while (at != end) {
    const char* const here = at;
    const char32_t character = next_character(at);
    if (strip_accents_ && (table_[character] & kNonspacingMark) != 0) continue;
    if (options_.lower_case) {
      append_lower(character, out);
    } else {
      out.append(here, at);
    }
  }
}

}  // namespace nadi::inline files
