#include "nadi/generate/utf8_assembler.h"

#include <cstddef>
#include <utility>

namespace nadi::inline runs {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Sequence {
  std::size_t length = 1;    // bytes that belong together
  std::size_t expected = 1;  // bytes of the character that they begin; 0 means of none
  bool whole() const { return length == expected; }
};

// The bytes at the beginning of the text, which is not empty, up to the end of a character or to what cannot
// go on with it. The second byte has a smaller range after some: no overlong forms, no surrogates, nothing
// beyond U+10FFFF.
Sequence first_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {};
  Sequence sequence;
  unsigned char low = 0x80, high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    sequence.expected = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    sequence.expected = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    sequence.expected = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return {.length = 1, .expected = 0};
  }
  while (sequence.length < sequence.expected && sequence.length < text.size()) {
    if (byte(sequence.length) < low || byte(sequence.length) > high) {
      sequence.expected = 0;
      return sequence;
    }
    ++sequence.length;
    low = 0x80;
    high = 0xBF;
  }
  return sequence;
}

}  // namespace

std::string Utf8Assembler::add(std::string_view bytes) {
  pending_ += bytes;
  return take(false);
}

std::string Utf8Assembler::finish() {
  return take(true);
}

std::string Utf8Assembler::take(bool at_end) {
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Sequence sequence = first_sequence(rest);
    const bool incomplete = sequence.expected > sequence.length;
    if (incomplete && !at_end) break;
    text += sequence.whole() ? rest.substr(0, sequence.length) : kReplacement;
    rest.remove_prefix(sequence.length);
  }
  pending_ = std::string(rest);
  return text;
}

}  // namespace nadi::inline runs
