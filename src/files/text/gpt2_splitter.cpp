// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// The alternatives exclude one another by their first character, or by the second after a space, with one
// exception: an apostrophe may begin a contraction or a run of others, and the contraction comes first.

#include "nadi/text/gpt2_splitter.h"

#include "nadi/text/character_run.h"

namespace nadi::inline files {
namespace {

// Behind the contraction whose apostrophe is at `at`; `at` when there is none.
const char* contraction_end(const char* at, const char* end) {
  if (end - at < 2) return at;
  switch (at[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return at + 2;
    case 'r':
    case 'v':
      return end - at > 2 && at[2] == 'e' ? at + 3 : at;
    case 'l':
      return end - at > 2 && at[2] == 'l' ? at + 3 : at;
    default:
      return at;
  }
}

}  // namespace

const char* gpt2_piece_end(const CharacterTable& table, const char* at, const char* end) {
  if (*at == '\'') {
    if (const char* const stop = contraction_end(at, end); stop != at) return stop;
  }
  const char* behind = at;
  std::uint8_t kind = split_class(table, next_character(behind));
  if (*at == ' ' && behind != end) {
    const char* behind_second = behind;
    const std::uint8_t second = split_class(table, next_character(behind_second));
    if (second != kSpace) {
      kind = second;
      behind = behind_second;
    }
  }
  return kind == kSpace ? space_end(table, at, end) : run_end(table, kind, behind, end);
}

}  // namespace nadi::inline files
