// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
// \s+(?!\S)|\s+
//
// Qwen2 has \p{N} in place of \p{N}{1,3}.
//
// The order of the alternatives matters: a letter may be preceded by any one character that is neither
// letter, number nor line break, so "\tword" and "(word" are one piece; white space that contains a line
// break ends behind the last one.

#include "nadi/text/llama3_splitter.h"
#include "nadi/text/character_run.h"

namespace nadi::inline files {
namespace {

constexpr char32_t kLongS = 0x17F;  // a small s to a regular expression that ignores case

// As far as contractions need it.
char32_t folded(char32_t character) {
  if (character >= 'A' && character <= 'Z') return character + ('a' - 'A');
  return character == kLongS ? U's' : character;
}

// Behind the contraction whose apostrophe is at `at`; `at` when there is none.
const char* folded_contraction_end(const char* at, const char* end) {
  const char* behind = at + 1;
  if (behind == end) return at;
  const char32_t first = folded(next_character(behind));
  switch (first) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return behind;
    case 'r':
    case 'v':
    case 'l':
      if (behind == end) return at;
      return folded(next_character(behind)) == (first == 'l' ? U'l' : U'e') ? behind : at;
    default:
      return at;
  }
}

bool is_line_break(char byte) {
  return byte == '\r' || byte == '\n';
}

// White space, of which there is at least one character at `at`.
const char* space_or_lines_end(const CharacterTable& table, const char* at, const char* end) {
  const char* const stop = run_end(table, kSpace, at, end);
  for (const char* back = stop; back != at; --back) {
    if (is_line_break(back[-1])) return back;
  }
  return space_end(table, at, end);
}

// The end of a piece, of at most `digits_per_piece` numbers.
const char* piece_end_of(const CharacterTable& table, const char* at, const char* end, int digits_per_piece) {
  if (*at == '\'') {
    if (const char* const stop = folded_contraction_end(at, end); stop != at) return stop;
  }
  const char* behind = at;
  std::uint8_t kind = split_class(table, next_character(behind));
  if (kind == kLetter) return run_end(table, kLetter, behind, end);
  if (kind == kNumber) {
    for (int digits = 1; digits < digits_per_piece && behind != end; ++digits) {
      const char* further = behind;
      if (split_class(table, next_character(further)) != kNumber) break;
      behind = further;
    }
    return behind;
  }
  if (behind != end && !is_line_break(*at)) {
    const char* behind_second = behind;
    const std::uint8_t second = split_class(table, next_character(behind_second));
    if (second == kLetter) return run_end(table, kLetter, behind_second, end);
    if (second == 0 && *at == ' ') kind = 0;
  }
  if (kind == kSpace) return space_or_lines_end(table, at, end);
  const char* stop = run_end(table, 0, behind, end);
  while (stop != end && is_line_break(*stop)) ++stop;
  return stop;
}

}  // namespace

const char* llama3_piece_end(const CharacterTable& table, const char* at, const char* end) {
  return piece_end_of(table, at, end, 3);
}

const char* qwen2_piece_end(const CharacterTable& table, const char* at, const char* end) {
  return piece_end_of(table, at, end, 1);
}

}  // namespace nadi::inline files
